"""The containers: the web servers behind a load balancer, and the background work as its own process."""

from pathlib import Path
from typing import Any

from console.stack.environment import REGION, SCRATCH, SETTINGS, WEB
from console.stack.functions import log_group
from console.stack.intrinsics import attribute, fn_sub, ref, when
from console.stack.storage import NAME, TAGS, Resources

# Where nginx listens, and its configuration.
PROXY_PORT = 8080
PROXY_FILE = Path(__file__).resolve().parents[2] / "deploy" / "aws" / "nginx.conf"
# The container's root is read-only except for this directory.
_PROXY_PLACE = "/tmp"  # noqa: S108  # nosec B108
# The load balancer checks whether a server is alive. A new one must be ready first, or a deployment with a wrong key or
# without a permission would replace all servers; if DynamoDB is away later, replacing servers would not help.
_PROXY_COMMAND = (
    f"printf '%s' \"$CONFIGURATION\" > {_PROXY_PLACE}/nginx.conf && "
    "until curl --fail --silent --show-error --max-time 10 http://127.0.0.1:8000/readyz; do sleep 2; done && "
    f"exec nginx -c {_PROXY_PLACE}/nginx.conf"
)
# Longer than gunicorn and `work` take to shut down.
STOP_SECONDS = 60


def services() -> Resources:
    """Return all resources, each on its condition."""
    web = {**_network(), **_access_log(), **_balancer(), "WebTask": _web_task(), "WebService": _web_service()}
    environment, command = SETTINGS | REGION | SCRATCH, ["python", "manage.py", "work"]
    console = _container("console", "Image", "work", environment, Command=command)
    work = {
        "WorkSecurityGroup": _of_containers("Work beside the web servers of the console"),
        "WorkTask": _task("work", [console]),
        "WorkService": _service("Work"),
    }
    shared = {
        "Cluster": {"Type": "AWS::ECS::Cluster", "Properties": {"ClusterName": NAME, "Tags": TAGS}},
        "ContainerLogs": log_group(fn_sub("/console/${Environment}")),
    }
    made = {name: {"Condition": "UsesContainers"} | each for name, each in shared.items()}
    made |= {name: {"Condition": "RunsWeb"} | each for name, each in web.items()}
    made |= {name: {"Condition": "RunsWork"} | each for name, each in work.items()}
    return made | {"HostRecord": _host_record()}


def _subnets(parameter: str) -> dict[str, Any]:
    return {"Fn::Split": [",", ref(parameter)]}


def _tcp(port: int, **other: Any) -> dict[str, Any]:
    return {"IpProtocol": "tcp", "FromPort": port, "ToPort": port} | other


def _security_group(description: str, out: list[Any], **more: Any) -> dict[str, Any]:
    properties = {"GroupDescription": description, "VpcId": ref("VpcId"), "SecurityGroupEgress": out, "Tags": TAGS}
    return {"Type": "AWS::EC2::SecurityGroup", "Properties": properties | more}


def _of_containers(description: str) -> dict[str, Any]:
    """Return a security group that nothing can reach. No rule can block the network's own DNS resolver."""
    own = {"IpProtocol": "-1", "CidrIp": ref("AllowedEgressCidr"), "Description": "AllowedEgressCidr"}
    https = _tcp(443, CidrIp="0.0.0.0/0", Description="AWS, providers, webhooks and company sign-in")
    return _security_group(description, [https, when("HasEgressCidr", own)])


def _network() -> Resources:
    """Return the security groups: browsers reach the load balancer alone, and it reaches the web servers alone."""
    browsers = [_tcp(port, CidrIp=ref("AllowedCidr"), Description="Browsers") for port in (80, 443)]
    plain = {"Description": "Plain HTTP within the network"}
    to_web = _tcp(PROXY_PORT, DestinationSecurityGroupId=ref("WebSecurityGroup"), **plain)
    from_balancer = _tcp(PROXY_PORT, SourceSecurityGroupId=ref("LoadBalancerSecurityGroup"), **plain)
    return {
        "LoadBalancerSecurityGroup": _security_group(
            "Load balancer of the console", [to_web], SecurityGroupIngress=browsers
        ),
        "WebSecurityGroup": _of_containers("Web servers of the console"),
        # By itself: two groups cannot name each other.
        "WebIngress": {
            "Type": "AWS::EC2::SecurityGroupIngress",
            "Properties": {"GroupId": ref("WebSecurityGroup")} | from_balancer,
        },
    }


def _access_log() -> Resources:
    """Return the bucket of the load balancer's access log, which only the load balancer may write to."""
    properties = {
        "BucketEncryption": {
            # Load balancers write to no bucket with a key of KMS.
            "ServerSideEncryptionConfiguration": [{"ServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}}]
        },
        "LifecycleConfiguration": {"Rules": [{"Status": "Enabled", "ExpirationInDays": ref("LogRetentionDays")}]},
        "OwnershipControls": {"Rules": [{"ObjectOwnership": "BucketOwnerEnforced"}]},
        "PublicAccessBlockConfiguration": dict.fromkeys(
            ("BlockPublicAcls", "BlockPublicPolicy", "IgnorePublicAcls", "RestrictPublicBuckets"), True
        ),
        "Tags": TAGS,
    }
    everything = [attribute("AccessLog"), fn_sub("${AccessLog.Arn}/*")]
    statements = [
        {
            "Sid": "Delivery",
            "Effect": "Allow",
            "Principal": {"Service": "logdelivery.elasticloadbalancing.amazonaws.com"},
            "Action": "s3:PutObject",
            "Resource": fn_sub("${AccessLog.Arn}/AWSLogs/${AWS::AccountId}/*"),
        },
        {
            "Sid": "EncryptedOnTheWay",
            "Effect": "Deny",
            "Principal": "*",
            "Action": "s3:*",
            "Resource": everything,
            "Condition": {"Bool": {"aws:SecureTransport": "false"}},
        },
    ]
    policy = {"Bucket": ref("AccessLog"), "PolicyDocument": {"Version": "2012-10-17", "Statement": statements}}
    kept = {"DeletionPolicy": "Retain", "UpdateReplacePolicy": "Retain"}
    return {
        "AccessLog": {"Type": "AWS::S3::Bucket", **kept, "Properties": properties},
        "AccessLogPolicy": {"Type": "AWS::S3::BucketPolicy", "Properties": policy},
    }


def _balancer() -> Resources:
    attributes = {
        "routing.http.drop_invalid_header_fields.enabled": "true",
        # Longer than any page of conversations takes, and shorter than nginx keeps its connections.
        "idle_timeout.timeout_seconds": "60",
        "access_logs.s3.enabled": "true",
        "access_logs.s3.bucket": ref("AccessLog"),
    }
    balancer = {
        "Name": NAME,
        "Type": "application",
        "Scheme": "internet-facing",
        "Subnets": _subnets("LoadBalancerSubnets"),
        "SecurityGroups": [ref("LoadBalancerSecurityGroup")],
        "LoadBalancerAttributes": [{"Key": key, "Value": value} for key, value in attributes.items()],
        "Tags": TAGS,
    }
    targets = {
        "VpcId": ref("VpcId"),
        "TargetType": "ip",
        # TLS ends at the load balancer: docs/aws.md says what that means.
        "Protocol": "HTTP",
        "Port": PROXY_PORT,
        "HealthCheckPath": "/healthz",
        "HealthCheckIntervalSeconds": 10,
        "HealthCheckTimeoutSeconds": 5,
        "HealthyThresholdCount": 2,
        "UnhealthyThresholdCount": 3,
        "Matcher": {"HttpCode": "200"},
        "TargetGroupAttributes": [
            {"Key": "deregistration_delay.timeout_seconds", "Value": "30"},
            # While two versions run, a page's static files must come from the task that rendered it.
            {"Key": "stickiness.enabled", "Value": "true"},
            {"Key": "stickiness.type", "Value": "lb_cookie"},
            {"Key": "stickiness.lb_cookie.duration_seconds", "Value": "3600"},
        ],
        "Tags": TAGS,
    }
    redirect = {"Protocol": "HTTPS", "Port": "443", "StatusCode": "HTTP_301"}
    return {
        "LoadBalancer": {
            "Type": "AWS::ElasticLoadBalancingV2::LoadBalancer",
            # It tries to write to the bucket when it is made.
            "DependsOn": "AccessLogPolicy",
            "Properties": balancer,
        },
        "Targets": {"Type": "AWS::ElasticLoadBalancingV2::TargetGroup", "Properties": targets},
        "Listener": _listener(
            443,
            "HTTPS",
            {"Type": "forward", "TargetGroupArn": ref("Targets")},
            SslPolicy="ELBSecurityPolicy-TLS13-1-2-2021-06",
            Certificates=[{"CertificateArn": ref("CertificateArn")}],
        ),
        "PlainListener": _listener(80, "HTTP", {"Type": "redirect", "RedirectConfig": redirect}),
    }


def _listener(port: int, protocol: str, action: dict[str, Any], **more: Any) -> dict[str, Any]:
    properties = {"LoadBalancerArn": ref("LoadBalancer"), "Port": port, "Protocol": protocol}
    return {
        "Type": "AWS::ElasticLoadBalancingV2::Listener",
        "Properties": properties | {"DefaultActions": [action]} | more,
    }


def _host_record() -> dict[str, Any]:
    alias = {
        "DNSName": attribute("LoadBalancer", "DNSName"),
        "HostedZoneId": attribute("LoadBalancer", "CanonicalHostedZoneID"),
    }
    properties = {"HostedZoneId": ref("HostedZoneId"), "Name": ref("HostName"), "Type": "A", "AliasTarget": alias}
    return {"Type": "AWS::Route53::RecordSet", "Condition": "NamesHost", "Properties": properties}


def _container(name: str, image: str, prefix: str, environment: dict[str, Any], **more: Any) -> dict[str, Any]:
    logs = {
        "awslogs-group": ref("ContainerLogs"),
        "awslogs-region": ref("AWS::Region"),
        "awslogs-stream-prefix": prefix,
    }
    return {
        "Name": name,
        "Image": ref(image),
        "Essential": True,
        "ReadonlyRootFilesystem": True,
        "StopTimeout": STOP_SECONDS,
        "Environment": [{"Name": key, "Value": value} for key, value in environment.items()],
        "LogConfiguration": {"LogDriver": "awslogs", "Options": logs},
    } | more


def _task(process: str, containers: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    platform = {
        "OperatingSystemFamily": "LINUX",
        "CpuArchitecture": when("OnArm", "ARM64", "X86_64"),
    }
    properties = {
        "Family": fn_sub(f"console-{process}-${{Environment}}"),
        "RequiresCompatibilities": ["FARGATE"],
        "NetworkMode": "awsvpc",
        "Cpu": ref("TaskCpu"),
        "Memory": ref("TaskMemory"),
        "RuntimePlatform": platform,
        "ExecutionRoleArn": attribute("ExecutionRole"),
        "TaskRoleArn": attribute(f"{process.title()}Role"),
        "ContainerDefinitions": containers,
        "Tags": TAGS,
    }
    return {"Type": "AWS::ECS::TaskDefinition", "Properties": properties | more}


def _web_task() -> dict[str, Any]:
    proxy = _container(
        "proxy",
        "ProxyImage",
        "web",
        {"CONFIGURATION": PROXY_FILE.read_text()},
        EntryPoint=["sh", "-c"],
        Command=[_PROXY_COMMAND],
        PortMappings=[{"ContainerPort": PROXY_PORT}],
        MountPoints=[{"SourceVolume": "proxy", "ContainerPath": _PROXY_PLACE}],
        DependsOn=[{"ContainerName": "console", "Condition": "START"}],
    )
    console = _container("console", "Image", "web", SETTINGS | REGION | WEB | SCRATCH)
    return _task("web", [console, proxy], Volumes=[{"Name": "proxy"}])


def _web_service() -> dict[str, Any]:
    made = _service(
        "Web",
        HealthCheckGracePeriodSeconds=60,
        LoadBalancers=[{"ContainerName": "proxy", "ContainerPort": PROXY_PORT, "TargetGroupArn": ref("Targets")}],
    )
    # ECS requires that a listener uses the target group before the service is created.
    return made | {"DependsOn": ["Listener"]}


def _service(name: str, **more: Any) -> dict[str, Any]:
    deployment = {
        "MinimumHealthyPercent": 100,
        "MaximumPercent": 200,
        "DeploymentCircuitBreaker": {"Enable": True, "Rollback": True},
    }
    network = {
        "Subnets": _subnets("TaskSubnets"),
        "SecurityGroups": [ref(f"{name}SecurityGroup")],
        "AssignPublicIp": ref("AssignPublicIp"),
    }
    properties = {
        "ServiceName": fn_sub(f"{name.lower()}-${{Environment}}"),
        "Cluster": ref("Cluster"),
        "LaunchType": "FARGATE",
        "TaskDefinition": ref(f"{name}Task"),
        "DesiredCount": ref(f"{name}Tasks"),
        "DeploymentConfiguration": deployment,
        "NetworkConfiguration": {"AwsvpcConfiguration": network},
        "PropagateTags": "SERVICE",
        "Tags": TAGS,
    }
    return {"Type": "AWS::ECS::Service", "Properties": properties | more}
