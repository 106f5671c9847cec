"""The lists of companies, projects, recipients and look-ups, their exports and saved views."""
