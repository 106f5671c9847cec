"""Tables as they should be, as they are, and what creates them or allows their use."""
