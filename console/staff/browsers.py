"""A short label of a browser for the list of sessions, instead of the whole User-Agent header."""

# The first that occurs wins: Edge and Opera name Chrome too, and Chrome names Safari.
_BROWSERS = (
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("Chrome/", "Chrome"),
    ("CriOS/", "Chrome"),
    ("Safari/", "Safari"),
)
_SYSTEMS = (
    ("Windows", "Windows"),
    ("Android", "Android"),
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Mac OS X", "macOS"),
    ("CrOS", "ChromeOS"),
    ("Linux", "Linux"),
)


def browser_label(user_agent: str) -> str:
    """Such as "Firefox on Linux"."""
    browser = next((label for sign, label in _BROWSERS if sign in user_agent), "Another browser")
    system = next((label for sign, label in _SYSTEMS if sign in user_agent), "")
    return f"{browser} on {system}" if system else browser
