"""What leads arrange for their team: saved replies, groups, service levels."""
