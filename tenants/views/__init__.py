"""Pages of tenants: browse, onboard, and change them."""
