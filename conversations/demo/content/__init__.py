"""What people and assistants say in the demo, by company and language. All of it was written for this project."""
