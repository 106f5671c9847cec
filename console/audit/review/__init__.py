"""Review across trails: what happened, who did it, when, with what result (data model, sections 2 and 5)."""
