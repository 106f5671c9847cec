"""What docs/drills.md has people practise, done as it stands there."""
