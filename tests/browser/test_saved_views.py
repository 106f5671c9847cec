"""Saved views: somebody keeps filters by keyboard and opens them elsewhere; a lead shares some with the others."""

from playwright.sync_api import Page, expect

from tests.browser.looks import check_looks

QUEUE = "/queue/?tab=waiting&channel=whatsapp"
OF_COMPANY = "/queue/?tab=waiting&company=ci-cuc-001&channel=sms"
OF_LIST = "/conversations/companies/ci-cuc-001/?status=is%3Afailed"


def current(page: Page) -> list[str]:
    return page.locator(".views .at-hand [aria-current]").all_inner_texts()


def delete(page: Page, name: str) -> None:
    page.goto("/views/")
    page.get_by_role("link", name=f"Change {name}").click()
    page.get_by_role("button", name="Delete the view").click()
    expect(page.get_by_text("The view is deleted.")).to_be_visible()


def test_a_view_is_saved_by_keyboard_marked_opened_in_another_tab_and_deleted(open_page):
    page = open_page("agent")
    page.goto("/queue/")
    expect(page.locator(".views")).to_have_count(0)
    page.goto(QUEUE)
    page.locator(".views .save summary").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.type("WhatsApp now")
    check_looks(page, "views-save")
    page.set_viewport_size({"width": 1280, "height": 860})
    page.get_by_label("Name").press("Enter")
    expect(page.get_by_text("The view is saved.")).to_be_visible()
    assert page.url.endswith(QUEUE)
    assert current(page) == ["WhatsApp now"]

    other = page.context.new_page()
    other.goto("/queue/?tab=mine")
    assert current(other) == []
    other.locator(".views summary", has_text="Views").press("Enter")
    listed = other.get_by_role("list", name="Saved views")
    check_looks(other, "views-menu")
    other.set_viewport_size({"width": 360, "height": 800})
    # On a phone the menu has them all.
    expect(other.locator(".views .at-hand a")).to_be_hidden()
    listed.get_by_role("link", name="WhatsApp now").press("Enter")
    other.wait_for_url("**" + QUEUE)
    expect(other.locator(".views .at-hand a")).to_be_visible()
    assert current(other) == ["WhatsApp now"]
    other.close()

    # The same name for something else: told, and what was typed is still there.
    page.goto(QUEUE + "&waited=1h")
    page.locator(".views .save summary").press("Enter")
    page.get_by_label("Name").fill("whatsapp NOW")
    page.get_by_label("Name").press("Enter")
    expect(page.get_by_text("A view with this name already exists. Choose another name.")).to_be_visible()
    expect(page.get_by_label("Name")).to_have_value("whatsapp NOW")
    check_looks(page, "views-taken", ("light", "dark-360"))
    page.goto("/views/")
    check_looks(page, "views")
    page.set_viewport_size({"width": 1280, "height": 860})
    page.get_by_role("link", name="Change WhatsApp now").click()
    check_looks(page, "views-change")
    delete(page, "WhatsApp now")
    page.goto("/queue/")
    expect(page.locator(".views")).to_have_count(0)


def test_a_lead_shares_a_view_and_an_agent_has_it(open_page):
    lead, agent = open_page("admin"), open_page("agent")
    for address, name in ((OF_COMPANY, "Texts"), (OF_LIST, "Failed ones")):
        lead.goto(address)
        lead.locator(".views .save summary").click()
        lead.get_by_label("Name").fill(name)
        lead.get_by_label("Everybody who sees").check()
        lead.get_by_role("button", name="Save", exact=True).click()
        expect(lead.get_by_text("The view is saved for everybody who may see it.")).to_be_visible()
        assert current(lead) == [name]
    agent.goto("/queue/")
    agent.locator(".views .at-hand a", has_text="Texts").click()
    agent.wait_for_url("**" + OF_COMPANY)
    agent.goto("/conversations/companies/ci-cuc-001/")
    # What the filters are is said again when they change in place.
    agent.get_by_label("Status").select_option("is:failed")
    expect(agent.locator(".views .at-hand [aria-current]")).to_have_text("Failed ones")
    check_looks(agent, "views-list", ("light", "dark-360"))
    agent.goto("/views/")
    expect(agent.get_by_role("link", name="Texts")).to_be_visible()
    expect(agent.get_by_role("link", name="Change Texts")).to_have_count(0)
    for name in ("Texts", "Failed ones"):
        delete(lead, name)
