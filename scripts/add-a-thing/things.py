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
    """A task of "Where to look", the most files that it may change, and an example of it."""

    task: str
    most: int
    edits: list


class Test(NamedTuple):
    """A file beside this one, and where the copy has it."""

    source: str
    path: str


class Mutation(NamedTuple):
    """Files that are left as they are, and what the tests then have to print when they fail."""

    without: list
    tests: list
    signs: list


def after(path, anchor, text):
    """Adds a text after the anchor."""
    return Edit(path, anchor, anchor + text)


def before(path, anchor, text):
    """Adds a text before the anchor."""
    return Edit(path, anchor, text + anchor)


# Places in the line that are kept for visitors who have had a place before.
RULE = Thing(
    "add a rule of the room",
    8,
    [
        after(
            f"{CORE}/room/rules.rs",
            "pub(crate) line_capacity: u32,\n",
            """    /// The number of places in the line that newcomers do not get.
    pub(crate) line_reserve: u32,
""",
        ),
        after(f"{CORE}/room/rules.rs", "line_capacity: 100_000,\n", "            line_reserve: 0,\n"),
        after(
            f"{CORE}/room/rules.rs",
            "self.line_capacity = places;\n        self\n    }\n",
            """
    /// Sets the number of places in the line that newcomers do not get; 0 by default.
    #[must_use]
    pub fn with_line_reserve(mut self, places: u32) -> Self {
        self.line_reserve = places;
        self
    }
""",
        ),
        after(
            f"{CORE}/room/rules.rs",
            "        self.line_capacity\n    }\n",
            """
    /// Returns the number of places in the line that newcomers do not get.
    #[must_use]
    pub const fn line_reserve(&self) -> u32 {
        self.line_reserve
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
            "    /// Sets the maximum number of places that the visitors of one network may hold",
            """    /// Sets the number of places in the line that newcomers do not get. The default is 0.
    pub fn line_reserve(self, places: u32) -> Self {
        self.rules(|rules| rules.with_line_reserve(places))
    }

""",
        ),
        after(
            f"{KIT}/conformance/settings.rs",
            ".with_line_capacity(rng.random_range(1..=12))\n",
            "        .with_line_reserve(rng.random_range(0..=3))\n",
        ),
        Edit(
            f"{KIT}/conformance/model/decisions.rs",
            "if needs_place && self.places.len() >= self.settings.line_capacity() as usize {",
            """let reserve = if ticket.placed { 0 } else { self.settings.line_reserve() };
        let capacity = self.settings.line_capacity().saturating_sub(reserve);
        if needs_place && self.places.len() >= capacity as usize {""",
        ),
    ],
)

THINGS = [RULE]

TESTS = [
    Test("main.rs", "crates/waiting-room-redis/tests/things/main.rs"),
    Test("rule.rs", "crates/waiting-room-redis/tests/things/rule.rs"),
]

MUTATIONS = [
    Mutation(
        [f"{REDIS}/lua/check_in.lua"],
        ["rule::"],
        ["\n    rule::the_store_obeys_the_rule_as_the_model_does\n"],
    ),
]
