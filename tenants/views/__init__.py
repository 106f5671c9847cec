"""Pages for browsing, onboarding and changing tenants."""
