"""Tables and indexes: what they must be, what is there, what creates and changes them, who may use them."""
