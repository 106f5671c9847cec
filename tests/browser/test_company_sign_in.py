"""Signing in and out with the company's own identity provider, on another site, as a browser does it."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Demo, pages
from tests.browser.looks import LOOKS, check_look
from tests.support.console.staff.oidc.identity_provider import IdentityProvider
from tests.support.processes import running_demo

SHOWN = {look: LOOKS[look] for look in ("light", "light-360", "dark-360")}


@pytest.fixture(scope="module")
def provider() -> Iterator[IdentityProvider]:
    """A provider that asks before it lets anybody on."""
    with IdentityProvider() as provider:
        # To a browser that is another site than 127.0.0.1, so that cookies travel as they would between companies.
        provider.issuer = provider.issuer.replace("127.0.0.1", "localhost")
        provider.asks = True
        yield provider


@pytest.fixture(scope="module")
def company_demo(provider: IdentityProvider) -> Iterator[Demo]:
    """A demo that is set up for the provider."""
    with running_demo(
        OIDC_ISSUER=provider.issuer,
        OIDC_CLIENT_ID=provider.client_id,
        OIDC_CLIENT_SECRET=provider.client_secret,
        OIDC_NAME="Acme",
        OIDC_ROLE_CLAIM="groups",
        OIDC_ROLES="console-agents=agent",
        OIDC_SCOPE_CLAIM="companies",
    ) as told:
        demo = Demo(told)
        provider.redirect_uris = {f"{demo.url}/sign-in/company/return/"}
        yield demo


@pytest.fixture(autouse=True)
def _an_agent(provider: IdentityProvider) -> None:
    provider.person = {
        "sub": "248289761001",
        "preferred_username": "ada.lovelace",
        "name": "Ada Lovelace",
        "groups": ["console-agents"],
        "companies": ["company:ci-cuc-001"],
    }
    provider.return_changes = {}


@pytest.fixture
def open_company_page(browser: Browser, company_demo: Demo) -> Iterator[Callable[..., Page]]:
    """Open a page of that demo."""
    with pages(browser) as open_:
        yield lambda **options: open_(base_url=company_demo.url, **options)


@pytest.mark.parametrize("scripts", [True, False])
def test_person_signs_in_with_the_company_and_out_of_both(open_company_page, provider, company_demo, scripts):
    page = open_company_page(java_script_enabled=scripts)
    page.goto("/conversations/")
    page.get_by_role("link", name="Sign in with Acme").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Company account")
    page.get_by_role("button", name="Allow").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Conversations")
    assert page.url == f"{company_demo.url}/conversations/"
    expect(page.get_by_text("Ada Lovelace").first).to_be_attached()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Signed out everywhere")
    assert page.url.startswith(f"{provider.issuer}/end?")
    page.get_by_role("link", name="Back").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")
    page.goto("/conversations/")
    expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")


def test_person_without_a_role_reads_why_and_may_use_another_account(open_company_page, provider):
    provider.person |= {"sub": "eve", "preferred_username": "eve.adams", "groups": []}
    page = open_company_page()
    page.goto("/sign-in/company/")
    page.get_by_role("button", name="Allow").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("No access to this console")
    page.get_by_role("link", name="Use another account").click()
    assert "prompt=select_account" in page.url
    provider.person |= {"sub": "248289761001", "groups": ["console-agents"]}
    page.get_by_role("button", name="Allow").click()
    expect(page.get_by_role("heading", level=1)).not_to_have_text("No access to this console")


@pytest.mark.parametrize("look", SHOWN)
def test_refusals_look_as_they_should(open_company_page, provider, look):
    width, scheme, axe = SHOWN[look]
    page = open_company_page(width=width, dark=scheme == "dark")
    page.goto("/sign-in/")
    check_look(page, f"company-sign-in-{look}", axe)
    page.goto("/sign-in/company/return/?code=x&state=y")
    expect(page.get_by_role("heading", level=1)).to_have_text("This sign-in cannot be finished")
    check_look(page, f"company-unfinished-{look}", axe)
    provider.person |= {"groups": []}
    page.get_by_role("link", name="Start again with Acme").click()
    page.get_by_role("button", name="Allow").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("No access to this console")
    check_look(page, f"company-no-access-{look}", axe)


@pytest.mark.parametrize("look", SHOWN)
def test_signed_out_page_looks_as_it_should_where_the_browser_does_not_go_on(open_company_page, provider, look):
    width, scheme, axe = SHOWN[look]
    page = open_company_page(width=width, dark=scheme == "dark")
    # The provider's page never comes, so the console's stays.
    page.route(f"{provider.issuer}/**", lambda route: route.abort("aborted"))
    page.goto("/sign-out/company/")
    expect(page.get_by_role("heading", level=1)).to_have_text("You are signed out")
    expect(page.get_by_role("link", name="Sign out with Acme")).to_be_visible()
    check_look(page, f"company-signed-out-{look}", axe)
