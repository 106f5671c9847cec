"""The trail: what is recorded, and how. A layer below staff and audit, which both write it."""
