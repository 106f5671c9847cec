"""Tenants in files: what `manage.py tenants export` gives out, and `manage.py tenants import` takes in.

values.py      DynamoDB JSON as JSON, and back
document.py    the document: made, and read with everything checked
checking.py    what is wrong with the items of one tenant
exporting.py   tenants of the table, with their entries in the trail; the file
planning.py    what an import would do, line by line
importing.py   doing it, in as few transactions as there can be
"""
