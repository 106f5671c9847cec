"""Everything that goes on at once: customers, the platform, people, what expires; `workers` bring it to Insight."""

import heapq
import json
import random
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from console import clock
from conversations.converting import hand_off_of
from conversations.handoff import HandOffAction as A
from conversations.handoff import perform
from conversations.handoff.actions import intent_for
from conversations.models import Conversation
from conversations.workers.streams.records import StreamChange
from tests.dynamodb import Store, to_dynamodb
from tests.model.conversations.insight import writers
from tests.model.conversations.insight.history import WEEK, HandOff, History, Said
from tests.model.conversations.insight.writers import entry_of, message_of, spelled
from tests.support.conversations.handoff.kit import ALL, staff

BEGINS = datetime(2026, 3, 2, 6, tzinfo=UTC)
SECOND, HOUR, DAY = timedelta(seconds=1), timedelta(hours=1), timedelta(days=1)
STAFF = {name: staff(name, scope=ALL) for name in ("ana", "ben")}
EVENTS = (
    *("customer", "customer", "customer", "answer", "answer", "answer", "both", "both", "both", "both"),
    *("flag", "flag", "take", "take", "take", "reply", "reply", "reply", "hand_back", "hand_back", "withdraw"),
    *("release", "steal", "leave_to_ai", "acknowledge", "assign", "request", "fail", "fail", "retry"),
    *("late", "late", "note", "close", "miss", "model", "move", "redate", "extend", "refused", "expire"),
)


class World:
    """Some conversations, and what the stream has still to bring of them.

    `real`: hand-offs are the console's own actions, and requests are recorded by the indexer. Else their trail is
    written as these would, for a tenth of the time. `lively`: how large a share of them has more than three events.
    """

    def __init__(self, store: Store, seed: int, many: int, *, real: bool, lively: float = 1.0) -> None:
        self.store, self.random, self.real, self.seed = store, random.Random(seed), real, seed
        self.now = BEGINS
        self.items: dict[str, dict[str, Any]] = {}
        self.images: dict[str, dict[str, Any]] = {}
        self.due: dict[str, list[StreamChange]] = {}
        self.all: list[History] = []
        self.plan: list[tuple[datetime, int]] = []
        self.left = [self.random.randint(*((4, 14) if self.random.random() < lively else (1, 3))) for _ in range(many)]
        for number in range(many):
            heapq.heappush(self.plan, (BEGINS + self.random.randint(0, 2 * 86_400) * SECOND, number))
        self.by_number: dict[int, History] = {}
        self.withdrawn: set[str] = set()

    def step(self) -> History | None:
        """The next thing that happens anywhere; None when it is over."""
        if not self.plan:
            return None
        at, number = heapq.heappop(self.plan)
        self.now = max(at, self.now + SECOND)
        each = self.by_number.get(number)
        if each is None:
            each = self.by_number[number] = self._begin(number)
        else:
            self.happen(each)
        self.left[number] -= 1
        if self.left[number] and not each.is_gone:
            heapq.heappush(self.plan, (self.now + self._pause(), number))
        return each

    def _pause(self) -> timedelta:
        kind = self.random.random()
        if kind < 0.6:
            return self.random.randint(1, 3600) * SECOND
        if kind < 0.82:
            return self.random.randint(3600, 20 * 3600) * SECOND
        return WEEK + self.random.choice((-60, -1, 0, 1, 3600, 3 * 86_400)) * SECOND

    def _begin(self, number: int) -> History:
        pick = self.random.choice
        company, project = pick(writers.COMPANIES), pick(writers.PROJECTS)
        channel, (model, config) = pick(writers.CHANNELS), pick(writers.MODELS)
        name = f"{company}#{project}#r{self.seed}-{number}#447700{number:06}"
        key = {"primary_channel": f"+447700{number:06}", "conversation_id": name}
        is_dated = self.random.random() < 0.93
        each = History(key, company, project, channel, model, pick(("1.4.2", "v2")), self.now if is_dated else None)
        item = {
            **{**key, "company_id": company, "project_id": project, "channel_method": channel.title()},
            **{"conversation_status": "initial_message_sent", "messages": [], "hand_off_to_human": False},
            **{"ai_config": config, "processor_version": each.version, "updated_at": clock.to_iso(self.now)},
            **({"created_at": self._spelled()} if is_dated else {}),
            **({"ttl": clock.to_epoch(self.now + 90 * DAY)} if self.random.random() < 0.3 else {}),
        }
        if is_dated and self.random.random() < 0.3:
            item["messages"] = [{"role": "user", "content": "You are", "timestamp": clock.to_iso(self.now)}]
        if self.random.random() < 0.3:
            each.intent, share, each.sure = pick(writers.STATES)
            state = {"conversation_id": name, "last_intent": each.intent, "last_routing_confidence": share}
            each.intent = "other" if " " in each.intent else each.intent
            self.store.put("CONVERSATION_STATE", state)
        self.all.append(each)
        self.items[name], self.images[name] = item, to_dynamodb(item)
        self.store.put("CONVERSATIONS", item)
        self.due[name] = [StreamChange(None, self.images[name], self.now)]
        if self.random.random() < 0.7:
            self._say(each, self._said("ai"))
        return each

    def _spelled(self) -> Any:
        """Now, as one writer or another has it; a number only where no index refuses it."""
        found = spelled(self.now, self.random)
        return found if isinstance(found, str) or self.store.embedded else clock.to_iso(self.now)

    # --- What happens -------------------------------------------------------------------------------------------------

    def happen(self, each: History) -> None:
        """One event that makes sense now."""
        if each.is_gone:
            return
        if each.failed and each.failed[2] != f"{self.now:%H}":
            # When it failed is only told by its time, which everything moves.
            self._retry(each)
            return
        for _ in range(12):
            name = self.random.choice(EVENTS)
            if getattr(self, f"_{name}")(each) is not False:
                each.log.append(f"{self.now:%m-%d %H:%M:%S} {name}")
                return

    def _said(self, who: str, agent: str = "") -> Said:
        if who != "ai":
            return Said(self.now, who, agent)
        numbers = (self.random.randint(0, 3000), self.random.randint(1, 400))
        tokens = self.random.choice(((0, 0, 0), (0, 0, sum(numbers)), (*numbers, sum(numbers))))
        return Said(self.now, who, "", tokens, self.random.choice((None, 0, self.random.randint(1, 90_000))))

    def _say(self, each: History, *said: Said, **more: Any) -> None:
        item = self.items[each.key["conversation_id"]]
        messages = item["messages"] if isinstance(item["messages"], list) else json.loads(item["messages"])
        messages = [*messages, *(message_of(one, len(messages) + n, self.random) for n, one in enumerate(said))]
        each.said += said
        is_text = not self.real and self.random.random() < 0.03
        self._write(each, messages=json.dumps(messages) if is_text else messages, **more)

    def _customer(self, each: History) -> None:
        self._say(each, self._said("customer"))

    def _answer(self, each: History) -> None:
        each.failed, each.done = None, False
        self._say(each, self._said("ai"), conversation_status="reply_sent")

    def _both(self, each: History) -> None:
        asked = self._said("customer")
        self.now += self.random.randint(1, 30) * SECOND
        each.failed, each.done = None, False
        self._say(each, asked, self._said("ai"), conversation_status="reply_sent")

    def _note(self, each: History) -> None:
        self._say(each, self._said(""))

    def _late(self, each: History) -> bool | None:
        """What was said in the middle of a silence comes now, so that there was none of a week."""
        gaps = [n for n, one in enumerate(each.said[1:], 1) if WEEK <= one.at - each.said[n - 1].at < 2 * WEEK]
        item = self.items[each.key["conversation_id"]]
        if not gaps or not isinstance(item["messages"], list):
            return False
        place, messages = gaps[0], list(item["messages"])
        middle = each.said[place - 1].at + (each.said[place].at - each.said[place - 1].at) / 2
        said = Said(middle.replace(microsecond=0), "customer")
        messages.insert(place + len(messages) - len(each.said), message_of(said, 1000 + len(messages), self.random))
        each.said.insert(place, said)
        self._write(each, messages=messages)
        return None

    def _fail(self, each: History) -> None:
        status = self.random.choice(("failed_to_process_ai", "failed_unknown"))
        reason, why = self.random.choice(writers.FAILURES)
        each.failed, each.done = (status, why, f"{self.now:%H}"), False
        self._write(each, conversation_status=status, failure_reason=reason)

    def _retry(self, each: History) -> bool | None:
        if not each.failed:
            return False
        each.failed = None
        self._write(each, conversation_status="retry", failure_reason=None)
        return None

    def _close(self, each: History) -> bool | None:
        """A service says that it is over."""
        if each.failed:
            return False
        each.done = True
        self._write(each, conversation_status=self.random.choice(("completed", "closed")))
        return None

    def _flag(self, each: History) -> bool | None:
        """The platform asks for a person."""
        if each.flag or not self._may_begin(each):
            return False
        text, why = self.random.choice(writers.WHY)
        self._wanted(each, why, is_asked=True)
        each.flag, each.agent = True, ""
        self._write(each, hand_off_to_human=True, hand_off_to_human_reason=text)
        return None

    def _withdraw(self, each: History) -> bool | None:
        """The platform wants nobody any more; whoever has it keeps it until they say so."""
        if not each.flag:
            return False
        each.flag = False
        if not each.agent:
            each.hand_offs[-1].ended = self.now
            self.withdrawn.add(each.key["conversation_id"])
        self._write(each, hand_off_to_human=False, hand_off_to_human_reason=None)
        return None

    def _may_begin(self, each: History) -> bool:
        """Of which episode a cause is, the middleware says only of the last one."""
        *earlier, _ = each.episodes()
        return each.intent == "unknown" or not any(one.hand_offs for one in earlier)

    def _wanted(self, each: History, why: str, *, is_asked: bool) -> HandOff:
        if each.hand_offs and each.hand_offs[-1].ended is None:
            each.hand_offs[-1].ended = self.now
        each.hand_offs.append(HandOff(self.now, is_asked, why))
        self.withdrawn.discard(each.key["conversation_id"])
        return each.hand_offs[-1]

    def _miss(self, each: History) -> bool | None:
        """An answer is late. That the timers note it is tested where they are."""
        if not each.flag or self.real:
            return False
        each.hand_offs[-1].missed += 1
        name = each.key["conversation_id"]
        self.store.put("AUDIT", entry_of(name, self.now, "target.missed", "timer", previous=""))
        self.looked_at(each)
        return None

    def looked_at(self, each: History) -> None:
        """What the timers do then; `workers` has it."""
        raise NotImplementedError

    def _model(self, each: History) -> None:
        each.model, config = self.random.choice(writers.MODELS)
        self._write(each, ai_config=config)

    def _move(self, each: History) -> bool | None:
        if self.random.random() < 0.5 or self.real:
            return False
        each.company, each.project = self.random.choice(writers.COMPANIES), self.random.choice(writers.PROJECTS)
        self._write(each, company_id=each.company, project_id=each.project)
        return None

    def _redate(self, each: History) -> bool | None:
        if each.created is None or self.random.random() < 0.5:
            return False
        each.created -= DAY
        self._write(each, created_at=clock.to_iso(each.created))
        return None

    def _extend(self, each: History) -> None:
        self._write(each, ttl=clock.to_epoch(self.now + 200 * DAY))

    def _expire(self, each: History) -> bool | None:
        """DynamoDB removes it, long after it was last written to."""
        if self.random.random() < 0.6:
            return False
        self.drained(each)
        name = each.key["conversation_id"]
        self.store.delete("CONVERSATIONS", **each.key)
        self.due[name].append(StreamChange(self.images[name], None, self.now))
        each.is_gone = True
        return None

    def drained(self, each: History) -> None:
        """All that the stream has of it is handled; `workers` has it."""
        raise NotImplementedError

    def _write(self, each: History, **values: Any) -> None:
        values = {"updated_at": clock.to_iso(self.now), **values}
        name = each.key["conversation_id"]
        self._note_write(each, self.items[name] | values, to_dynamodb(values))
        if self.real:
            self.store.update("CONVERSATIONS", each.key, **values)
        else:
            # Nobody else writes to it, and to replace it whole costs moto an eighth.
            self.store.client.put_item(TableName=self.store.name("CONVERSATIONS"), Item=self.images[name])

    def _note_write(self, each: History, item: dict[str, Any], changed: dict[str, Any]) -> None:
        name = each.key["conversation_id"]
        before = self.images[name]
        self.items[name], self.images[name] = item, before | changed
        self.due[name].append(StreamChange(before, self.images[name], self.now))

    # --- What people do -----------------------------------------------------------------------------------------------

    def _reply(self, each: History) -> bool | None:
        if not (each.agent and each.flag):
            return False
        self._say(each, self._said("human", each.agent))
        return None

    def _take(self, each: History) -> bool | None:
        who = self.random.choice(tuple(STAFF))
        if each.flag:
            if each.agent or not self._act(each, A.TAKE, who):
                return False
            hand_off = each.hand_offs[-1]
        else:
            if (not each.agent and not self._may_begin(each)) or not self._act(each, A.TAKE_OVER, who):
                return False
            hand_off = each.hand_offs[-1] if each.agent else self._wanted(each, "other", is_asked=False)
        hand_off.taken = hand_off.taken or self.now
        hand_off.takers.append(who)
        each.flag, each.agent = True, who
        return None

    def _steal(self, each: History) -> bool | None:
        who = "ben" if each.agent == "ana" else "ana"
        if not (each.flag and each.agent and self._act(each, A.TAKE_FROM_COLLEAGUE, who)):
            return False
        each.hand_offs[-1].takers.append(who)
        each.agent = who
        return None

    def _release(self, each: History) -> bool | None:
        if not (each.flag and each.agent and self._act(each, A.RELEASE, each.agent)):
            return False
        each.agent = ""
        return None

    def _assign(self, each: History) -> bool | None:
        """Given to a colleague; of what the platform withdrew nobody could tell whether they were asked for it."""
        to = "ben" if each.agent == "ana" else "ana"
        is_with_ai = not each.flag and not each.agent
        if self.real or (not each.flag and not is_with_ai) or each.key["conversation_id"] in self.withdrawn:
            return False
        if (is_with_ai and not self._may_begin(each)) or not self._act(each, A.ASSIGN, "ada"):
            return False
        hand_off = self._wanted(each, "other", is_asked=False) if is_with_ai else each.hand_offs[-1]
        hand_off.taken = hand_off.taken or self.now
        each.flag, each.agent = True, to
        return None

    def _request(self, each: History) -> bool | None:
        if each.flag or each.agent or not self._may_begin(each) or not self._act(each, A.REQUEST, "ana"):
            return False
        self._wanted(each, "other", is_asked=True)
        each.flag = True
        return None

    def _hand_back(self, each: History) -> bool | None:
        who = each.agent or "ana"
        if not each.flag or not self._act(each, A.HAND_BACK, who):
            return False
        each.hand_offs[-1].handed_back = self.now
        each.hand_offs[-1].returned_by.append(who)
        return self._with_ai(each)

    def _leave_to_ai(self, each: History) -> bool | None:
        if not each.flag or each.failed or not self._act(each, A.LEAVE_TO_AI, each.agent or "ana"):
            return False
        return self._with_ai(each)

    def _acknowledge(self, each: History) -> bool | None:
        if each.flag or not each.agent or not self._act(each, A.ACKNOWLEDGE, each.agent):
            return False
        return self._with_ai(each)

    def _with_ai(self, each: History) -> None:
        each.hand_offs[-1].ended = self.now
        each.flag, each.agent = False, ""

    def _refused(self, each: History) -> bool | None:
        """Somebody was too late, or died before their action took effect."""
        if self.real:
            return False
        self._enter(each, self.random.choice((A.TAKE, A.HAND_BACK)), "ben", self.random.choice(("conflict", "pending")))
        return None

    def _act(self, each: History, action: A, who: str) -> bool:
        """What an action leaves in item and trail; whether it took effect."""
        if self.real:
            return self._perform(each, action, who)
        # Now and then who acts dies before they say that it took effect.
        action_id = self._enter(each, action, who, self.random.choice(("success", "success", "pending")))
        reason = {"hand_off_to_human_reason": "because"} if action in (A.TAKE_OVER, A.REQUEST, A.ASSIGN) else {}
        is_flagged = action not in (A.HAND_BACK, A.LEAVE_TO_AI, A.ACKNOWLEDGE)
        self._write(each, hand_off_to_human=is_flagged, hand_off_action_id=action_id, **reason)
        return True

    def _enter(self, each: History, action: A, who: str, result: str) -> str:
        name, action_id = each.key["conversation_id"], f"{self.random.getrandbits(64):016x}"
        previous = self.items[name].get("hand_off_action_id", "")
        enter = partial(entry_of, name, self.now, action.audited_as.value, who, reason="because")
        self.store.put("AUDIT", enter(action_id=action_id, previous=previous, result=result))
        return action_id

    def _perform(self, each: History, action: A, who: str) -> bool:
        # Whoever acts before a request is recorded acts on what the indexer has not repaired: that is another test's.
        self.drained(each)
        item = Conversation.get(*each.key.values(), consistent_read=True)
        intent = intent_for(action, item, hand_off_of(item))
        perform(intent, STAFF[who], reason="because")
        self.tell(each)
        return self.items[each.key["conversation_id"]].get("hand_off_action_id") == intent.action_id

    def tell(self, each: History) -> None:
        """Note what the console has written."""
        after = self.store.get("CONVERSATIONS", **each.key)
        if after is not None and after != self.items[each.key["conversation_id"]]:
            name = each.key["conversation_id"]
            image = to_dynamodb(after)
            self.due[name].append(StreamChange(self.images[name], image, self.now))
            self.items[name], self.images[name] = after, image
