"""The trail: what is recorded, and how. Below staff and audit, which both write it."""
