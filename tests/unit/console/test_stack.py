"""The CloudFormation template: the registry's tables, the policies' statements, handlers and settings there are."""

import json
import os
import re
import secrets
import subprocess
import sys
from itertools import product
from typing import Any

import pytest
from cfnlint.api import lint
from django.core.management import call_command
from django.test import override_settings

from console.provisioning.definition import create_table_request
from console.provisioning.policies import POLICIES, document
from console.schema.tables import TABLES
from console.stack.access import policy_names
from console.stack.functions import FUNCTIONS
from console.stack.parameters import CHANNELS, OTHER_TABLES, OWN_TABLES, PARAMETERS, title_of
from console.stack.storage import VISIBILITY_SECONDS
from console.stack.template import stack_template, stack_text
from console.store.calls import table_name
from conversations.work import lambdas
from conversations.work.parts import PARTS
from tests.documentation import ROOT, TEMPLATE, settings
from tests.support.console.stack import ACCOUNT, REGION, ResolvedStack

SQS = f"https://sqs.{REGION}.amazonaws.com"
STAGE = "their-conversations-stage-prod"
OTHER_ACCOUNT = "210987654321"
STREAMS = {
    f"{name}StreamArn": f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{table}/stream/2026-11-25T00:00:00.000"
    for name, table in (("Conversations", "conversations-prod"), ("ConversationsStage", STAGE))
}
DIGEST = f"sha256:{'0a' * 32}"
# Everything that can be there, but how the work runs.
FULL = {
    **STREAMS,
    "HostName": "console.example.com",
    "HandOffRouting": "held",
    "HandoffQueueUrl": f"{SQS}/{OTHER_ACCOUNT}/handoff",
    "WhatsappQueueUrl": f"{SQS}/{OTHER_ACCOUNT}/whatsapp",
    "EmailQueueUrl": f"{SQS}/{OTHER_ACCOUNT}/email",
    "ConversationsStageTable": STAGE,
    "TenantsTable": "their-tenants",
    "SendingService": "own",
    "WhatsappSecretNames": "whatsapp/{company}/*",
    "EmailSecretNames": "mail-*",
    "NotificationsFromEmail": "desk@example.com",
    "AlarmTopicArn": f"arn:aws:sns:{REGION}:{ACCOUNT}:alarms",
    "CodeBucket": "a-bucket",
    "CodeKey": "console.zip",
    "Image": f"{ACCOUNT}.dkr.ecr.{REGION}.amazonaws.com/console@{DIGEST}",
    "ProxyImage": f"public.ecr.aws/nginx/nginx@{DIGEST}",
    "CertificateArn": f"arn:aws:acm:{REGION}:{ACCOUNT}:certificate/12345678-1234-1234-1234-123456789012",
    "HostedZoneId": "Z0123456789ABCDEFGHIJ",
    "VpcId": "vpc-0123456789abcdef0",
    "LoadBalancerSubnets": "subnet-0123456789abcdef0,subnet-0123456789abcdef1",
    "TaskSubnets": "subnet-0123456789abcdef2,subnet-0123456789abcdef3",
}
BARE = {"Replies": "off"}
SOME = {
    "SmsSecretNames": "sms/*",
    "NotificationsFromEmail": "desk@example.com",
    "SmsQueueUrl": f"{SQS}/{OTHER_ACCOUNT}/sms",
}
LAMBDAS, PROCESS = {"RunWorkAs": "Lambdas"}, {"RunWorkAs": "Process"}


def stack(**given: str) -> ResolvedStack:
    return ResolvedStack(stack_template(), **given)


def in_that_environment(given: dict[str, str], environment: str = "prod"):
    """The settings of the same environment, for what the code makes of these."""
    named = {key: given[f"{title_of(key)}Table"] for key in OTHER_TABLES if f"{title_of(key)}Table" in given}
    sends, own = given.get("Replies") != "off", given.get("SendingService") == "own"
    ours = f"{SQS}/{ACCOUNT}"
    return override_settings(
        CONSOLE_ENV=environment,
        AWS_REGION=REGION,
        TABLE_NAMES=named,
        HANDOFF_QUEUE_URL=given.get("HandoffQueueUrl", ""),
        CHANNEL_QUEUE_URLS={name: given[f"{name}QueueUrl"] for name in CHANNELS if f"{name}QueueUrl" in given},
        OUTBOX_QUEUE_URL=f"{ours}/console-outbox-{environment}.fifo" if sends else "",
        SENDING_SERVICE_QUEUE_URL=f"{ours}/console-sending-service-{environment}.fifo" if own else "",
        RECEIPTS_QUEUE_URL=f"{ours}/console-receipts-{environment}" if own else "",
        SECRET_NAMES=[given[f"{name}SecretNames"] for name in CHANNELS if f"{name}SecretNames" in given],
        NOTIFICATIONS_TOPIC_PREFIX="console-",
        NOTIFICATIONS_FROM_EMAIL=given.get("NotificationsFromEmail", ""),
    )


# --- The template as such ------------------------------------------------------------------------------------------


def test_the_command_prints_the_template_that_is_checked_in(capsys):
    call_command("stack")
    printed = capsys.readouterr().out
    assert printed == TEMPLATE.read_text(), "run: python -m tests.documentation"
    assert json.loads(printed) == stack_template()


def test_no_two_parts_of_the_template_name_the_same_resource():
    from console.stack import access, alarms, functions, services, storage

    parts = (
        *(storage.tables(), storage.queues(), storage.secret(), access.policies(), access.roles()),
        *(functions.functions(), services.services(), alarms.alarms()),
    )
    assert sum(map(len, parts)) == len(stack_template()["Resources"])


@pytest.mark.slow
@pytest.mark.parametrize("used", [{}, FULL], ids=["defaults", "everything"])
def test_cloudformations_linter_has_nothing_to_say(used):
    """As it is, and with parameters that are not empty, of which nothing is overlooked."""
    template = json.loads(stack_text())
    for name, value in used.items():
        template["Parameters"][name]["Default"] = value
    if used:
        template["Metadata"]["cfn-lint"]["config"]["ignore_checks"].remove("W1030")
        template["Metadata"]["cfn-lint"]["config"]["ignore_checks"].remove("W1033")
    assert [str(match) for match in lint(json.dumps(template), regions=[REGION])] == []


def test_it_is_within_cloudformations_limits():
    template = stack_template()
    assert len(template["Parameters"]) <= 200
    assert len(template["Resources"]) <= 500
    assert len(stack_text().encode()) < 1_000_000


# --- Tables and queues ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("environment", ["prod", "staging", "dev"])
def test_own_tables_are_those_of_the_registry_and_no_others(environment):
    found = stack(Environment=environment)
    tables = {each["TableName"]: each for each in found.of_type("AWS::DynamoDB::Table").values()}
    with in_that_environment({}, environment):
        assert set(tables) == {table_name(key) for key in OWN_TABLES}
        for key in OWN_TABLES:
            made, asked = tables[table_name(key)], create_table_request(key)
            protects = asked["DeletionProtectionEnabled"]
            assert protects == (environment != "dev" and TABLES[key].protected)
            assert made == asked | {
                "TimeToLiveSpecification": {"AttributeName": TABLES[key].ttl, "Enabled": True},
                "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": protects},
            } or (not TABLES[key].ttl and "TimeToLiveSpecification" not in made)
    kept = [each for each in found.resources.values() if each["Type"] == "AWS::DynamoDB::Table"]
    assert {(each["DeletionPolicy"], each["UpdateReplacePolicy"]) for each in kept} == {("Retain", "Retain")}


def test_tables_that_are_there_already_are_left_alone():
    found = stack(TablesAndSecret="existing")
    assert not found.of_type("AWS::DynamoDB::Table")
    assert not found.of_type("AWS::SecretsManager::Secret")
    assert found.outputs()["StaffTable"] == "console-staff-prod"


def test_queues_are_encrypted_and_give_up_what_cannot_be_dealt_with():
    queues = stack(**FULL, **LAMBDAS).of_type("AWS::SQS::Queue")
    assert all(each["SqsManagedSseEnabled"] for each in queues.values())
    by_arn = {f"arn:aws:sqs:{REGION}:{ACCOUNT}:{each['QueueName']}": each for each in queues.values()}
    redriven = [each for each in queues.values() if "RedrivePolicy" in each]
    assert {each["QueueName"] for each in redriven} == {
        *("console-outbox-prod.fifo", "console-sending-service-prod.fifo", "console-receipts-prod")
    }
    for each in redriven:
        dead = by_arn[each["RedrivePolicy"]["deadLetterTargetArn"]]
        assert dead.get("FifoQueue") == each.get("FifoQueue") == (each["QueueName"].endswith(".fifo") or None)
        assert dead["MessageRetentionPeriod"] > each["MessageRetentionPeriod"]


# --- Rights --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [FULL, SOME, BARE], ids=["everything", "some", "bare"])
@pytest.mark.parametrize("process", POLICIES)
def test_the_policies_of_a_process_are_what_the_command_prints(process, given):
    found = stack(**given).of_type("AWS::IAM::ManagedPolicy")
    documents = [found[name]["PolicyDocument"] for name in policy_names(process)]
    assert all(len(json.dumps(each, separators=(",", ":"))) <= 6_144 for each in documents)
    with in_that_environment(given):
        expected = document(process, ACCOUNT)
    assert {each["Version"] for each in documents} == {expected["Version"]}
    assert [_sorted(each) for one in documents for each in one["Statement"]] == [
        _sorted(each) for each in expected["Statement"]
    ]


def _sorted(statement: dict[str, Any]) -> dict[str, Any]:
    return statement | {"Resource": sorted(statement["Resource"])}


def test_each_role_has_the_policies_of_its_process_and_whoever_runs_it_takes_it():
    found = stack(**FULL, **LAMBDAS)
    roles = found.of_type("AWS::IAM::Role")
    assert set(roles) == {f"{each.title()}Role" for each in POLICIES if each != "work"} | {"ExecutionRole"}
    for process in set(POLICIES) - {"work"}:
        assert roles[f"{process.title()}Role"]["ManagedPolicyArns"] == policy_names(process)
    assert {each.part: f"{each.part.title()}Role.Arn" for each in FUNCTIONS} == {
        each.part: found.resources[f"{each.name}Function"]["Properties"]["Role"] for each in FUNCTIONS
    }
    work = stack(**FULL, **PROCESS)
    assert work.resources["WorkTask"]["Properties"]["TaskRoleArn"] == "WorkRole.Arn"
    assert work.of_type("AWS::IAM::Role")["WorkRole"]["ManagedPolicyArns"] == policy_names("work")


# --- What runs -----------------------------------------------------------------------------------------------------


def test_the_work_runs_as_a_process_or_as_lambdas_and_never_as_both():
    process, lambdas = stack(**FULL, **PROCESS), stack(**FULL, **LAMBDAS)
    assert set(process.of_type("AWS::ECS::Service")) == {"WebService", "WorkService"}
    assert process.of_type("AWS::Lambda::Function") == {}
    assert set(lambdas.of_type("AWS::ECS::Service")) == {"WebService"}
    assert set(lambdas.of_type("AWS::Lambda::Function")) == {f"{each.name}Function" for each in FUNCTIONS}
    assert stack(**BARE).of_type("AWS::ECS::Service") == {}


def test_containers_are_reached_by_the_load_balancer_alone_and_reach_port_443_alone():
    found = stack(**FULL, **PROCESS, AllowedCidr="198.51.100.0/24")
    groups = found.of_type("AWS::EC2::SecurityGroup")
    browsers = groups["LoadBalancerSecurityGroup"]["SecurityGroupIngress"]
    assert [(each["FromPort"], each["CidrIp"]) for each in browsers] == [
        (80, "198.51.100.0/24"),
        (443, "198.51.100.0/24"),
    ]
    [to_web] = groups["LoadBalancerSecurityGroup"]["SecurityGroupEgress"]
    [into_web] = found.of_type("AWS::EC2::SecurityGroupIngress").values()
    [target] = found.of_type("AWS::ElasticLoadBalancingV2::TargetGroup").values()
    assert to_web["ToPort"] == into_web["ToPort"] == target["Port"]
    assert to_web["DestinationSecurityGroupId"] == into_web["GroupId"] == "WebSecurityGroup"
    assert into_web["SourceSecurityGroupId"] == "LoadBalancerSecurityGroup"
    tasks = {"WebSecurityGroup": "WebService", "WorkSecurityGroup": "WorkService"}
    for name, service in tasks.items():
        network = found.resources[service]["Properties"]["NetworkConfiguration"]["AwsvpcConfiguration"]
        assert network["SecurityGroups"] == [name]
        assert "SecurityGroupIngress" not in groups[name]
        [out] = groups[name]["SecurityGroupEgress"]
        assert (out["IpProtocol"], out["FromPort"], out["ToPort"]) == ("tcp", 443, 443)
    wider = stack(**FULL, **PROCESS, AllowedEgressCidr="10.0.0.0/16").of_type("AWS::EC2::SecurityGroup")
    assert [each["CidrIp"] for each in wider["WorkSecurityGroup"]["SecurityGroupEgress"]] == [
        "0.0.0.0/0",
        "10.0.0.0/16",
    ]


def test_a_web_server_begins_when_it_is_ready_and_stays_while_it_is_alive(tmp_path):
    found = stack(**FULL)
    [targets] = found.of_type("AWS::ElasticLoadBalancingV2::TargetGroup").values()
    assert targets["HealthCheckPath"] == "/healthz"
    [command] = found.resources["WebTask"]["Properties"]["ContainerDefinitions"][1]["Command"]
    log = tmp_path / "log"
    # The console is not ready when it is asked first.
    scripts = {"curl": f"[ $(grep -c readyz {log}) -gt 1 ]", "nginx": "true", "sleep": "true"}
    for name, then in scripts.items():
        (tmp_path / name).write_text(f'#!/bin/sh\necho {name} "$@" >>{log}\n{then}\n')
        (tmp_path / name).chmod(0o755)
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "CONFIGURATION": "daemon off;"}
    here = command.replace("/tmp/", f"{tmp_path}/")
    subprocess.run(["sh", "-c", here], env=environment, check=True, timeout=20)
    asked = "curl --fail --silent --show-error --max-time 10 http://127.0.0.1:8000/readyz"
    assert log.read_text().splitlines() == [asked, "sleep 2", asked, f"nginx -c {tmp_path}/nginx.conf"]
    assert (tmp_path / "nginx.conf").read_text() == "daemon off;"


def test_the_load_balancer_alone_writes_its_access_log_and_it_expires():
    found = stack(**FULL, **PROCESS)
    [balancer] = found.of_type("AWS::ElasticLoadBalancingV2::LoadBalancer").values()
    attributes = {each["Key"]: each["Value"] for each in balancer["LoadBalancerAttributes"]}
    assert (attributes["access_logs.s3.enabled"], attributes["access_logs.s3.bucket"]) == ("true", "AccessLog")
    assert found.resources["LoadBalancer"]["DependsOn"] == "AccessLogPolicy"
    [bucket] = found.of_type("AWS::S3::Bucket").values()
    assert set(bucket["PublicAccessBlockConfiguration"].values()) == {True}
    assert [each["ExpirationInDays"] for each in bucket["LifecycleConfiguration"]["Rules"]] == ["30"]
    [policy] = found.of_type("AWS::S3::BucketPolicy").values()
    allowed = [each for each in policy["PolicyDocument"]["Statement"] if each["Effect"] == "Allow"]
    assert [(each["Action"], each["Principal"]) for each in allowed] == [
        ("s3:PutObject", {"Service": "logdelivery.elasticloadbalancing.amazonaws.com"})
    ]


@pytest.mark.parametrize("name", ["Image", "ProxyImage"])
def test_images_are_named_by_digest(name):
    pattern = PARAMETERS[name]["AllowedPattern"]
    assert [bool(re.search(pattern, each)) for each in ("", FULL[name])] == [True, True]
    wrong = ("console:1", "console:latest", "console@sha256:0a", f"{FULL[name]}0", f"a b@{DIGEST}")
    assert [each for each in wrong if re.search(pattern, each)] == []


def test_each_part_has_lambdas_whose_handlers_exist():
    found = stack(**FULL, **LAMBDAS)
    handlers = {each["Handler"] for each in found.of_type("AWS::Lambda::Function").values()}
    names = [name for name in vars(lambdas) if name.startswith("handle_")]
    assert handlers == {f"conversations.work.lambdas.{name}" for name in (*names, "run_part")}
    inputs = [each["Targets"][0]["Input"] for each in found.of_type("AWS::Events::Rule").values()]
    # The stream of the conversations starts the indexer, which needs no schedule.
    assert sorted(json.loads(each)["part"] for each in inputs) == sorted(set(PARTS) - {"indexer"})


def test_events_that_fail_in_part_are_reported_in_part():
    sources = stack(**FULL, **LAMBDAS).of_type("AWS::Lambda::EventSourceMapping")
    assert len(sources) == 4
    assert all(each["FunctionResponseTypes"] == ["ReportBatchItemFailures"] for each in sources.values())
    streams = [each for each in sources.values() if "/stream/" in each["EventSourceArn"]]
    assert [each["EventSourceArn"] for each in streams] == list(STREAMS.values())
    assert all("OnFailure" in each["DestinationConfig"] for each in streams)
    queues = {each["EventSourceArn"] for each in sources.values()} - set(STREAMS.values())
    own = f"arn:aws:sqs:{REGION}:{ACCOUNT}:console-outbox-prod.fifo"
    assert queues == {f"arn:aws:sqs:{REGION}:{OTHER_ACCOUNT}:handoff", own}
    # Or SQS would bring to another what one is still at.
    assert all(each.seconds <= VISIBILITY_SECONDS for each in FUNCTIONS if each.queue)


@pytest.mark.parametrize("run", [LAMBDAS, PROCESS], ids=["lambdas", "process"])
def test_processes_get_settings_that_there_are(run):
    known = {each.name for each in settings()} | {f"TABLE_{key}" for key in TABLES}
    found = stack(**FULL, **run)
    for each in found.of_type("AWS::Lambda::Function").values():
        assert set(each["Environment"]["Variables"]) <= known
        # Lambda refuses to be told this.
        assert "AWS_REGION" not in each["Environment"]["Variables"]
    for task in found.of_type("AWS::ECS::TaskDefinition").values():
        [console] = [each for each in task["ContainerDefinitions"] if each["Name"] == "console"]
        assert {each["Name"] for each in console["Environment"]} <= known | {"TMPDIR"}
        assert all(each["ReadonlyRootFilesystem"] for each in task["ContainerDefinitions"])


@pytest.mark.slow
@pytest.mark.parametrize("given", [FULL, BARE], ids=["everything", "bare"])
def test_the_console_starts_with_these_settings(given):
    lines = stack(**given).outputs()["Environment"].splitlines()
    environment = dict(line.split("=", 1) for line in lines)
    assert environment.pop("SETTINGS_SECRET") == "console-prod"
    environment |= {"SECRET_KEY": secrets.token_urlsafe(48), "PATH": os.environ["PATH"]}
    done = subprocess.run(
        [sys.executable, "manage.py", "check"], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_parameters_that_cannot_work_are_refused():
    assert stack(**BARE).broken_rules() == []
    assert len(stack().broken_rules()) == 1
    assert stack(SmsSecretNames="sms/*").broken_rules() == []
    assert stack(**FULL, **LAMBDAS).broken_rules() == []
    assert stack(**BARE, RunWorkAs="Lambdas").broken_rules() == [
        "Lambdas need CodeBucket.",
        "Lambdas need CodeKey.",
        "The indexer as a Lambda needs ConversationsStreamArn.",
    ]
    lacking = {name: value for name, value in FULL.items() if name != "CodeKey"}
    assert stack(**lacking, **LAMBDAS).broken_rules() == ["Lambdas need CodeKey."]
    assert stack(**BARE, Image=f"console@{DIGEST}").broken_rules() == [
        "Containers need VpcId.",
        "Containers need TaskSubnets.",
    ]
    assert len(stack(**BARE, HandOffRouting="held").broken_rules()) == 1


def test_every_choice_gives_a_stack_in_which_all_that_is_named_is_there():
    """Whatever is chosen: what a resource refers to is there too."""
    template = stack_template()
    choices = {name: each["AllowedValues"] for name, each in PARAMETERS.items() if "AllowedValues" in each}
    varied = ("RunWorkAs", "Replies", "SendingService")
    optional = [{}, FULL, {name: value for name, value in FULL.items() if name not in ("Image", "HandoffQueueUrl")}]
    for used, values in product(optional, product(*(choices[each] for each in varied))):
        found = ResolvedStack(template, **used | dict(zip(varied, values, strict=True)))
        roles = {f"{name}.Arn" for name in found.of_type("AWS::IAM::Role")}
        assert {each["Role"] for each in found.of_type("AWS::Lambda::Function").values()} <= roles
        assert {each["TaskRoleArn"] for each in found.of_type("AWS::ECS::TaskDefinition").values()} <= roles
        queues = {each["QueueName"] for each in found.of_type("AWS::SQS::Queue").values()} | {"handoff"}
        alarms = found.of_type("AWS::CloudWatch::Alarm").values()
        dimensions = [one for each in alarms for one in each.get("Dimensions", ())]
        assert {each["Value"] for each in dimensions if each["Name"] == "QueueName"} <= queues
