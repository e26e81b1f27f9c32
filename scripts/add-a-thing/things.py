"""The things that scripts/add-a-thing.py adds, as changes of files.

An anchor is a text that its file contains once.
"""
from typing import NamedTuple

CORE = "crates/waiting-room-core/src"
LAYER = "crates/tower-waiting-room/src"
KIT = "crates/waiting-room-test/src"
REDIS = "crates/waiting-room-redis/src"


class Edit(NamedTuple):
    """A text that takes the place of an anchor in a file."""

    path: str
    anchor: str
    text: str


class Thing(NamedTuple):
    """A task of "Where to look", the most files that may be changed by hand for it, and an example of it.

    `written` are files that the tests write with WRITE_DOCS=1 in the environment.
    """

    task: str
    most: int
    edits: list
    written: tuple = ()


class Test(NamedTuple):
    """A file beside this one, and where the copy has it."""

    source: str
    path: str


class Mutation(NamedTuple):
    """Files that are left as they are, and what cargo then has to print when it fails."""

    without: list
    cargo: list
    signs: list


def after(path, anchor, text):
    """Adds a text after the anchor."""
    return Edit(path, anchor, anchor + text)


def before(path, anchor, text):
    """Adds a text before the anchor."""
    return Edit(path, anchor, text + anchor)


def does_not_compile(*paths):
    """Leaves files as they are that the compiler has to report."""
    return Mutation(paths, ["build", "--keep-going"], [f"--> {path}" for path in paths])


def new(path, text):
    """Adds a file."""
    return Edit(path, "", text)


# Places in the line that are kept for visitors who have had a place before.
RULE = Thing(
    "add a rule of the room",
    7,
    [
        after(
            f"{CORE}/room/rules.rs",
            "pub line_capacity: u32,\n",
            """    /// The number of places in the line that newcomers do not get.
    pub line_reserve: u32,
""",
        ),
        after(f"{CORE}/room/rules.rs", "line_capacity: 100_000,\n", "            line_reserve: 0,\n"),
        after(
            f"{CORE}/room/rules.rs",
            "self.line_capacity = places;\n        self\n    }\n",
            """
    /// Sets the number of places in the line that newcomers do not get; 0 by default.
    #[must_use]
    pub fn line_reserve(mut self, places: u32) -> Self {
        self.line_reserve = places;
        self
    }
""",
        ),
        before(
            f"{CORE}/room/settings.rs",
            '        Setting {\n            name: "longest_session_duration",',
            """        Setting {
            name: "line_reserve",
            doc: "the number of places in the line that newcomers do not get",
            values: AllowedValues::counts(0..=Self::MAX_LINE_CAPACITY),
            is_for_events: false,
            get: |rules| SettingValue::Count(rules.line_reserve),
            set: |rules, value| value.count().map(|places| rules.line_reserve = places),
        },
""",
        ),
        Edit(
            f"{CORE}/room/room.rs",
            "if needs_place && self.line.len() >= self.rules.line_capacity {",
            """let reserve = if ticket.placed { 0 } else { self.rules.line_reserve };
        if needs_place && self.line.len() >= self.rules.line_capacity.saturating_sub(reserve) {""",
        ),
        Edit(
            f"{REDIS}/lua/check_in.lua",
            "if ticket.needs_place and room.places >= room.line_capacity then",
            """local reserve = ticket.placed and 0 or room.line_reserve
    if ticket.needs_place and room.places >= room.line_capacity - reserve then""",
        ),
        before(
            f"{LAYER}/config/room.rs",
            "    /// Sets the share of the slots and of the line that one network may have while others want them.",
            """    /// Sets the number of places in the line that newcomers do not get. The default is 0.
    pub fn line_reserve(self, places: u32) -> Self {
        self.rules(|rules| rules.line_reserve(places))
    }

""",
        ),
        before(
            "docs/configuration-file.md",
            "|`longest_session_duration`|",
            "|`line_reserve`|0 to 10000000|0||the number of places in the line that newcomers do not get|\n",
        ),
        before(
            "docs/configuration-file.schema.json",
            '    "longest_session_duration": {\n',
            """    "line_reserve": {
      "default": 0,
      "description": "the number of places in the line that newcomers do not get",
      "maximum": 10000000,
      "minimum": 0,
      "type": "integer"
    },
""",
        ),
        after(
            f"{KIT}/conformance/settings.rs",
            ".line_capacity(rng.random_range(1..=12))\n",
            "        .line_reserve(rng.random_range(0..=3))\n",
        ),
        Edit(
            f"{KIT}/conformance/model/decisions.rs",
            "if needs_place && self.places.len() >= self.settings.line_capacity as usize {",
            """let reserve = if ticket.placed { 0 } else { self.settings.line_reserve };
        let capacity = self.settings.line_capacity.saturating_sub(reserve);
        if needs_place && self.places.len() >= capacity as usize {""",
        ),
    ],
    ("docs/configuration-file.md", "docs/configuration-file.schema.json"),
)

# The rule above, during an event.
EVENT = Thing(
    "let an event override a rule",
    3,
    [
        Edit(
            f"{CORE}/room/settings.rs",
            "counts(0..=Self::MAX_LINE_CAPACITY),\n            is_for_events: false",
            "counts(0..=Self::MAX_LINE_CAPACITY),\n            is_for_events: true",
        ),
        Edit(
            "docs/configuration-file.md",
            "|`line_reserve`|0 to 10000000|0||",
            "|`line_reserve`|0 to 10000000|0|yes|",
        ),
        before(
            "docs/configuration-file.schema.json",
            '        "name": {\n          "description": "Unique among the events."',
            """        "line_reserve": {
          "$ref": "#/properties/line_reserve"
        },
""",
        ),
        before(
            f"{CORE}/room/event/event.rs",
            "    /// Overrides the queueing method.",
            """    /// Overrides the number of places in the line that newcomers do not get.
    #[must_use]
    pub fn line_reserve(self, places: u32) -> Self {
        self.overridden("line_reserve", SettingValue::Count(places))
    }

""",
        ),
        after(
            f"{KIT}/conformance/schedule.rs",
            "    renewal: Option<SessionRenewal>,\n",
            "    reserve: Option<u32>,\n",
        ),
        before(
            f"{KIT}/conformance/schedule.rs",
            "            method,\n",
            "            reserve: Some(other.line_reserve).filter(|_| rng.random_bool(0.2)),\n",
        ),
        before(
            f"{KIT}/conformance/schedule.rs",
            "        let waits = ",
            "        rules = rules.line_reserve(self.reserve.unwrap_or(base.line_reserve));\n",
        ),
        before(
            f"{KIT}/conformance/schedule.rs",
            "        if let Some(method) = self.method {",
            """        if let Some(reserve) = self.reserve {
            event = event.line_reserve(reserve);
        }
""",
        ),
    ],
    ("docs/configuration-file.md", "docs/configuration-file.schema.json"),
)

# The capacity of the line, which the page shows with a sentence of its own.
FIELD = Thing(
    "add a fact to the page",
    3,
    [
        before(
            f"{LAYER}/respond/answer.rs",
            "    /// The order in which the room admits visitors.",
            """    /// The number of places in the line. `None` if the answer is not about the room.
    pub line_capacity: Option<u32>,
""",
        ),
        before(
            f"{LAYER}/respond/answer.rs",
            "            method: QueueingMethod::Fifo,",
            "            line_capacity: None,\n",
        ),
        after(
            f"{LAYER}/respond/answer.rs",
            "        self.method = rules.queueing_method;\n",
            "        self.line_capacity = Some(rules.line_capacity);\n",
        ),
        before(
            f"{LAYER}/respond/own_page.rs",
            "        html.push_str(&frame.notes);",
            """        if let Some(places) = answer.line_capacity {
            let places = super::sentences::Sentences(language)
                .with(Phrase::LinePlaces, &language.count(places));
            write_paragraph("\\n<p class=\\"soft\\" id=\\"places\\"", &Some(places), &mut html);
        }
""",
        ),
        before(
            f"{LAYER}/respond/template.rs",
            '    ("logo", ',
            '    ("line_capacity", |of| of.answer.line_capacity.into()),\n',
        ),
        before(
            f"{LAYER}/respond/template.rs",
            "        logo: Option<&'a str>,",
            "        line_capacity: Option<u32>,\n",
        ),
        before(
            f"{LAYER}/respond/template.rs",
            "            logo: None,",
            "            line_capacity: answer.line_capacity,\n",
        ),
    ],
)

SENTENCE = Thing(
    "add or change a sentence",
    2,
    [
        after(f"{LAYER}/respond/i18n.rs", '= "line-about",\n', '    LinePlaces = "line-places",\n'),
        before(
            f"{LAYER}/respond/i18n/en.ftl",
            "slower = ",
            "line-places = The line has { $shown } places.\n",
        ),
    ],
)

# A fixed window that begins in the middle between two multiples of its length: a day begins at noon.
ALGORITHM = Thing(
    "add an algorithm",
    10,
    [
        new(
            f"{CORE}/rate/noon_window.rs",
            """//! The noon window: a fixed window that begins in the middle between two multiples of its length.

use std::time::Duration;

use super::{
    Alignment, Charge, FixedWindow, Meter, Quota,
    fixed_window::FixedWindowState,
};
use crate::Timestamp;

/// The [noon window](super::Algorithm::NoonWindow): a fixed window whose clock is ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoonWindow {
    window: FixedWindow,
    /// Half the length of the window, in whole microseconds.
    ahead: Duration,
}

impl NoonWindow {
    /// Creates a meter for a quota that is [valid](Quota::validate) for this algorithm.
    #[must_use]
    pub fn new(quota: &Quota) -> Self {
        let ahead = quota.window_nanos() / 2_000;
        Self {
            window: FixedWindow::new(quota, Alignment::Epoch),
            ahead: Duration::from_micros(ahead),
        }
    }
}

impl Meter for NoonWindow {
    type State = FixedWindowState;

    fn limit(&self) -> u64 {
        self.window.limit()
    }

    fn remaining(&self, state: &FixedWindowState, now: Timestamp) -> u64 {
        self.window.remaining(state, now + self.ahead)
    }

    fn wait(&self, state: &FixedWindowState, cost: u64, now: Timestamp) -> Option<Duration> {
        self.window.wait(state, cost, now + self.ahead)
    }

    fn spend(&self, state: &mut FixedWindowState, cost: u64, now: Timestamp) -> Charge {
        Charge { at: now, ..self.window.spend(state, cost, now + self.ahead) }
    }

    fn refund(
        &self,
        state: &mut FixedWindowState,
        charge: &Charge,
        cost: u64,
        now: Timestamp,
    ) -> Charge {
        self.window.refund(state, charge, cost, now + self.ahead)
    }

    fn used(&self, state: &FixedWindowState, now: Timestamp) -> u64 {
        self.window.used(state, now + self.ahead)
    }

    fn replenished_at(&self, state: &FixedWindowState, now: Timestamp) -> Timestamp {
        self.window.replenished_at(state, now + self.ahead).before(self.ahead)
    }

    fn join(&self, state: &mut FixedWindowState, other: &FixedWindowState, now: Timestamp) {
        self.window.join(state, other, now + self.ahead);
    }

    fn take_over(&self, state: &mut FixedWindowState, from: &Self, now: Timestamp) {
        let used = from.used(state, now);
        *state = FixedWindowState::default();
        self.spend(state, used, now);
    }
}
""",
        ),
        before(f"{CORE}/rate.rs", "mod quota;", "mod noon_window;\n"),
        before(
            f"{CORE}/rate.rs",
            "        sliding_counter::{SlidingCounter,",
            "        noon_window::NoonWindow,\n",
        ),
        before(f"{CORE}/rate.rs", "    sliding_counter::SlidingCounter,", "    noon_window::NoonWindow,\n"),
        Edit(f"{CORE}/rate/quota.rs", "pub const ALL: [Self; 6]", "pub const ALL: [Self; 7]"),
        after(f"{CORE}/rate/quota.rs", "        Self::LeakyQueue,\n", "        Self::NoonWindow,\n"),
        after(
            f"{CORE}/rate/quota.rs",
            "\n    LeakyQueue,\n",
            """    /// A fixed window that begins in the middle between two multiples of its length since the Unix
    /// epoch.
    NoonWindow,
""",
        ),
        before(
            f"{CORE}/rate/quota.rs",
            '            Self::SlidingCounter => "',
            '            Self::NoonWindow => "noon_window",\n',
        ),
        before(
            f"{CORE}/rate/memory.rs",
            "        Algorithm::SlidingCounter => Arc::new(",
            """        Algorithm::NoonWindow => {
            Arc::new(LockedMemory::new(quotas, keys, super::NoonWindow::new))
        }
""",
        ),
        before(
            f"{CORE}/rate/memory.rs",
            "        Algorithm::SlidingCounter => of_tiers(",
            """        Algorithm::NoonWindow => {
            of_tiers(&|_| LockedTable::<super::NoonWindow>::bytes_per_key(0))
        }
""",
        ),
        before(
            f"{REDIS}/limits/meter.rs",
            '            Algorithm::SlidingCounter => "c",',
            '            Algorithm::NoonWindow => "n",\n',
        ),
        before(
            f"{REDIS}/limits/meter.rs",
            "        Algorithm::SlidingCounter => 5,",
            "        Algorithm::NoonWindow => 8,\n",
        ),
        Edit(
            f"{REDIS}/limits/block.rs",
            "Algorithm::FixedWindow(_) => lease",
            "Algorithm::FixedWindow(_) | Algorithm::NoonWindow => lease",
        ),
        Edit(f"{REDIS}/limits/lua/charge.lua", "counters, logs, logs}", "counters, logs, logs, windows}"),
        Edit(
            f"{REDIS}/limits/lua/window.lua",
            "return {[3] = window(by_epoch), [4] = window(by_first_hit)}",
            """-- Begins windows in the middle between two multiples of their length.
local function by_noon(ask)
    return now_us - (now_us + math.floor(ask.period / 2)) % ask.period
end

return {[3] = window(by_epoch), [4] = window(by_first_hit), [8] = window(by_noon)}""",
        ),
        Edit(
            "crates/waiting-room-redis/tests/it/limits/support.rs",
            "        Algorithm::LeakyQueue => Some(Algorithm::SlidingCounter),",
            """        Algorithm::LeakyQueue => Some(Algorithm::NoonWindow),
        Algorithm::NoonWindow => Some(Algorithm::SlidingCounter),""",
        ),
        Edit("docs/rules-file.md", "`sliding_log`, `sliding_counter`|", "`sliding_log`, `sliding_counter`, `noon_window`|"),
        after("docs/configuration-file.schema.json", '            "sliding_counter"', ',\n            "noon_window"'),
        after("docs/rules-file.schema.json", '            "sliding_counter"', ',\n            "noon_window"'),
    ],
    ("docs/rules-file.md", "docs/rules-file.schema.json"),
)

FORMAT = Thing(
    "add a form of answer",
    9,
    [
        before(
            f"{LAYER}/request/accept.rs",
            "    /// `text/html`\n    Html,\n    /// `application/json`\n    Json,\n    /// `application/problem+json`",
            "    /// `text/csv`\n    Csv,\n",
        ),
        before(
            f"{LAYER}/request/accept.rs",
            "    /// `text/html`\n    Html,\n    /// `application/json`\n    Json,\n    /// `text/plain`",
            "    /// `text/csv`\n    Csv,\n",
        ),
        Edit(f"{LAYER}/request/accept.rs", "const COUNT: usize = 7;", "const COUNT: usize = 8;"),
        before(
            f"{LAYER}/request/accept.rs",
            '            9 => (is(name, b"text/html")',
            '            8 => (is(name, b"text/csv"), Self::Csv),\n',
        ),
        Edit(f"{LAYER}/request/accept.rs", "[Range; 2]); 4]", "[Range; 2]); 5]"),
        after(
            f"{LAYER}/request/accept.rs",
            "    (Offer::Text, [Range::Plain, Range::Text]),\n",
            "    (Offer::Csv, [Range::Csv, Range::Text]),\n",
        ),
        Edit(f"{LAYER}/request/accept/tests.rs", "[MediaType<'static>; 4]", "[MediaType<'static>; 5]"),
        after(
            f"{LAYER}/request/accept/tests.rs",
            "    MediaType::new(names::TEXT, names::PLAIN),\n",
            "    MediaType::new(names::TEXT, names::CSV),\n",
        ),
        before(
            f"{LAYER}/request/client.rs",
            "    /// A gRPC or gRPC-Web client. The answer is a gRPC status.",
            "    /// A program that prefers a table. The answer is CSV.\n    Csv,\n",
        ),
        before(
            f"{LAYER}/request/client.rs",
            '            Self::Grpc => "grpc",',
            '            Self::Csv => "csv",\n',
        ),
        before(
            f"{LAYER}/request/client.rs",
            "        Some(Some(Offer::Html)) =>",
            "        Some(Some(Offer::Csv)) => ClientKind::Csv,\n",
        ),
        before(
            f"{LAYER}/respond/form.rs",
            "        ClientKind::Grpc => grpc::response(answer),",
            """        ClientKind::Csv => {
            let position = answer.position.map(|place| place.to_string()).unwrap_or_default();
            let table = format!("reason,position\\n{},{position}\\n", answer.reason);
            of_type("text/csv; charset=utf-8", table)
        }
""",
        ),
        Edit(
            f"{LAYER}/respond/responder.rs",
            "            ClientKind::Grpc\n            | ClientKind::Json\n",
            "            ClientKind::Csv\n            | ClientKind::Grpc\n            | ClientKind::Json\n",
        ),
        Edit(
            f"{LAYER}/respond/responder.rs",
            "            ClientKind::Grpc | ClientKind::Json | ClientKind::Problem | ClientKind::Text => {",
            """            ClientKind::Csv
            | ClientKind::Grpc
            | ClientKind::Json
            | ClientKind::Problem
            | ClientKind::Text => {""",
        ),
        before(
            f"{LAYER}/respond/shapes.rs",
            "    /// The status for gRPC clients:",
            "    /// The status for clients that read CSV: 429 by default.\n    csv: StatusCode,\n",
        ),
        before(
            f"{LAYER}/respond/shapes.rs",
            "            ClientKind::Grpc => self.grpc,",
            "            ClientKind::Csv => self.csv,\n",
        ),
        before(
            f"{LAYER}/respond/shapes.rs",
            "            ClientKind::Grpc => self.grpc = status,",
            "            ClientKind::Csv => self.csv = status,\n",
        ),
        Edit(f"{LAYER}/respond/shapes.rs", "let others = [self.json,", "let others = [self.csv, self.json,"),
        before(
            f"{LAYER}/respond/shapes.rs",
            "            grpc: StatusCode::OK,",
            "            csv: StatusCode::TOO_MANY_REQUESTS,\n",
        ),
        before(
            f"{LAYER}/config/file/room.rs",
            "            (ClientKind::Json, self.json),",
            "            (ClientKind::Csv, self.csv),\n",
        ),
        before(
            f"{LAYER}/config/file/room.rs",
            "    json: Option<u16>,",
            "    csv: Option<u16>,\n",
        ),
        before("docs/answers.md", "| | other `Accept` |", "| | `Accept: text/csv` | its place, `text/csv` | same | | curl |\n"),
        before("docs/configuration-file.md", "|`json`|", "|`csv`|`200`, `202`, `429`, `503`|`429`|Programs that get CSV.|\n"),
        Edit("docs/configuration-file.schema.json", '          "json": 503,\n          "nav', '          "csv": 503,\n          "json": 503,\n          "nav'),
        before(
            "docs/configuration-file.schema.json",
            """        "json": {
          "default": 429,""",
            """        "csv": {
          "default": 429,
          "description": "Programs that get CSV.",
          "enum": [
            200,
            202,
            429,
            503
          ]
        },
""",
        ),
    ],
    ("docs/configuration-file.md",),
)

THINGS = [RULE, EVENT, FIELD, SENTENCE, ALGORITHM, FORMAT]

FOLDER = "crates/waiting-room-redis/tests/things"
TESTS = [Test(name, f"{FOLDER}/{name}") for name in ["main.rs", "answers.rs", "limits.rs", "rule.rs"]]
TESTS.append(Test("importer.rs", "crates/waiting-room-cloudflare/tests/things.rs"))

# Scripts that run at the end, and what each has to list.
LISTED = [("scripts/untranslated.py", "de.ftl: line-places")]

# The compiler leads to what an algorithm and a form of answer have to have, and the suite to a rule that
# the scripts do not obey.
MUTATIONS = [
    does_not_compile(f"{CORE}/rate/memory.rs"),
    does_not_compile(
        f"{REDIS}/limits/meter.rs",
        f"{REDIS}/limits/block.rs",
        f"{LAYER}/respond/form.rs",
        f"{LAYER}/respond/responder.rs",
        f"{LAYER}/respond/shapes.rs",
    ),
    Mutation(
        [f"{REDIS}/lua/check_in.lua"],
        ["test", "rule::"],
        ["\n    rule::the_store_obeys_the_rule_as_the_model_does\n"],
    ),
]
