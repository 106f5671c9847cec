"""The demo's companies and projects with their channel and AI configuration."""

from dataclasses import dataclass
from typing import Any

_ARN = "arn:aws:secretsmanager:eu-west-2:123456789012:secret:ai-multi-comms"


@dataclass(frozen=True, slots=True)
class Project:
    """A project: what it may use to write, and the instruction that opens its conversations."""

    project_id: str
    name: str
    channels: tuple[str, ...]
    prompt: str
    status: str = "active"


@dataclass(frozen=True, slots=True)
class Company:
    """A company. Numbers are of the ranges reserved for fiction; `sms_number` may be absent (sent under a name)."""

    company_id: str
    name: str
    slug: str
    assistant: str
    representatives: tuple[str, ...]
    whatsapp_number: str
    sms_number: str | None
    email: str
    office_tel: str
    projects: tuple[Project, ...]


COMPANIES = (
    Company(
        "ci-cuc-001",
        "Cucumber Recruitment",
        "cucumber-recruitment",
        "Cleo",
        ("Carol Jennings", "Mark Osei", "Harriet Lund"),
        "+447700900811",
        "+447700900812",
        "replies@cucumber.example",
        "020 7946 0811",
        (
            Project(
                "pi-cuc-cv",
                "Clarify CV",
                ("whatsapp", "sms", "email"),
                "Candidate: {first} {last}. Role: {job_title} ({job_ref}). Clarify the open points in the CV, one at a time. "
                "Gap: {gap}. Be friendly and brief. Language: {language_name}.",
            ),
            Project(
                "pi-cuc-int",
                "Interviews",
                ("whatsapp", "sms", "email"),
                "Arrange or follow up the interview of {first} {last} with {client} for {job_title}. Offered: "
                "{interview_day}, {interview_time}, {location}. Language: {language_name}.",
            ),
            Project(
                "pi-cuc-onb",
                "Onboarding documents",
                ("whatsapp", "email"),
                "{first} {last} starts as {job_title} on {start_date}. Missing: {documents}. Collect them. Never ask for "
                "bank details in the chat. Language: {language_name}.",
            ),
        ),
    ),
    Company(
        "ci-nwe-002",
        "Northwind Energy",
        "northwind-energy",
        "Nora",
        ("Yusuf Demir", "Ellen Marsh"),
        "+447700900821",
        "+447700900822",
        "help@northwind.example",
        "0808 157 0821",
        (
            Project(
                "pi-nwe-bil",
                "Billing",
                ("whatsapp", "sms", "email"),
                "Customer {first} {last}, account {account_number}, tariff {tariff}, bill {amount}. Explain the bill and offer "
                "a payment arrangement where wanted. Language: {language_name}.",
            ),
            Project(
                "pi-nwe-mtr",
                "Meter readings",
                ("whatsapp", "sms", "email"),
                "Ask {first} {last} for the reading of meter {meter_serial} (last: {last_reading}). Check that it is plausible. "
                "Language: {language_name}.",
            ),
            Project(
                "pi-nwe-mov",
                "Moving home",
                ("whatsapp", "email"),
                "{first} {last} moves from {old_postcode} to {new_postcode} on {move_date}. Guide through the move. "
                "Language: {language_name}.",
            ),
            Project(
                "pi-nwe-out",
                "Outages",
                ("whatsapp", "sms", "email"),
                "Power cut {incident_ref} in {postcode} since {time}, about {homes} homes. Inform {first} {last}; ask for medical "
                "dependencies; hand off any emergency. Language: {language_name}.",
            ),
        ),
    ),
    Company(
        "ci-lum-003",
        "Lumen Dental Group",
        "lumen-dental",
        "Lumi",
        ("Sinead Walsh", "Dr Anand Rao", "Greta Holm"),
        "+447700900831",
        None,
        "hello@lumendental.example",
        "0113 496 0831",
        (
            Project(
                "pi-lum-apt",
                "Appointments",
                ("whatsapp", "sms", "email"),
                "Patient {first} {last} ({patient_ref}), {clinic}. Arrange an appointment with {clinician}: {appt_day} at "
                "{appt_time}. Language: {language_name}.",
            ),
            Project(
                "pi-lum-aft",
                "Aftercare",
                ("whatsapp", "sms", "email"),
                "Patient {first} {last} ({patient_ref}) had: {procedure}, with {clinician}. Ask about pain, swelling, fever. Give no "
                "diagnosis; hand off warning signs at once. Language: {language_name}.",
            ),
            Project(
                "pi-lum-pay",
                "Payment plans",
                ("whatsapp", "sms", "email"),
                "Patient {first} {last}, plan {patient_ref}: {plan_total} in {instalments} payments of {monthly}. Help with questions "
                "about the plan. Language: {language_name}.",
                status="paused",
            ),
        ),
    ),
)
PROJECTS = {project.project_id: (company, project) for company in COMPANIES for project in company.projects}


def channel_config(company: Company, project: Project) -> dict[str, Any]:
    """`channel_config` of a project: our number or address per channel, with references to credentials."""
    path = f"{_ARN}/{company.slug}/{project.project_id}"
    every: dict[str, dict[str, Any]] = {
        "whatsapp": {
            "company_whatsapp_number": company.whatsapp_number,
            "whatsapp_credentials_id": f"{path}/whatsapp/twilio-dev-Wq7xKp",
            "template_name": f"{project.project_id.replace('-', '_')}_opening_v2",
        },
        "sms": {"sms_credentials_id": f"{path}/sms/twilio-dev-b3Ra9Z"},
        "email": {
            "company_email": company.email,
            "email_credentials_id": f"{path}/email/sendgrid-dev-uD52Hm",
            "sender_name": f"{company.assistant} at {company.name}",
        },
    }
    if company.sms_number:
        every["sms"]["company_sms_number"] = company.sms_number
    else:
        every["sms"]["sender_id"] = company.slug.split("-")[0].upper()
    return {channel: every[channel] for channel in project.channels}


def ai_config(company: Company, project: Project, channel: str) -> dict[str, Any]:
    """`ai_config` of a conversation over that channel: assistants by task, and the reference of the API key."""
    key = f"{_ARN}/{company.slug}/openai-api-key/{channel}-dev-Zk81Qc"
    suffix = f"{company.slug[:3]}{project.project_id[-3:]}".title()
    return {
        "openai_config": {
            channel: {
                "api_key_reference": key,
                "assistant_id_template_sender": f"asst_{suffix}Send7Yq2Lx",
                "assistant_id_replies": f"asst_{suffix}Reply4Tn8Vb",
            }
        },
        "model": "gpt-4o-mini" if channel != "email" else "gpt-4o",
        "max_completion_tokens": 600,
    }


def company_rep(company: Company) -> dict[str, Any]:
    """`company_rep`: the people of the company, the last place often empty."""
    places = {f"company_rep_{place}": name for place, name in enumerate(company.representatives, 1)}
    return {**places, f"company_rep_{len(places) + 1}": None}


def routing(company: Company, project: Project) -> dict[str, Any]:
    """The `auto_queue_*` attributes of a project."""
    texts = "sms" in project.channels and company.sms_number is not None
    return {
        "auto_queue_initial_message": project.project_id == "pi-cuc-int",
        "auto_queue_initial_message_from_number": [company.whatsapp_number]
        if project.project_id == "pi-cuc-int"
        else [],
        "auto_queue_initial_message_from_email": [],
        "auto_queue_reply_message": project.project_id not in ("pi-cuc-onb", "pi-lum-pay"),
        "auto_queue_reply_message_from_number": [company.whatsapp_number, *([company.sms_number] if texts else [])],
        "auto_queue_reply_message_from_email": [company.email],
    }
