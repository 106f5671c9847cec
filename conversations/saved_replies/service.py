"""stub"""


def filled_text(token, item, staff):
    return ""
