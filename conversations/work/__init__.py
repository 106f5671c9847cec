"""Every background part of the console, and how it is run and watched."""
