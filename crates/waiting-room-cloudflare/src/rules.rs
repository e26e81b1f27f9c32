//! Bypass rules.

use serde_json::{Value, json};
use tower_waiting_room::WaitingRoomConfig;
use waiting_room_core::{ConfigError, error::ConfigErrorKind};

use super::{
    expression::{Branch, branches},
    fields::{JsonFields, Read, Unsupported, refused},
};

/// The rules of a room, in the form of a configuration file.
#[derive(Clone, Debug, Default)]
pub(super) struct BypassRules {
    /// The elements of the field `bypass`.
    pub(super) bypass: Vec<Value>,
    pub(super) unsupported: Vec<Unsupported>,
}

impl BypassRules {
    /// The maximum number of rules that are read, and of the rules that result from them.
    pub(super) const MAX_RULES: usize = 100;

    /// Reads a list of rules. A rule with a value that Cloudflare's API cannot return is left out.
    pub(super) fn read(list: Vec<Value>) -> Self {
        let mut rules = Self::default();
        for (index, rule) in list.into_iter().enumerate() {
            let at = format!("rules[{index}]");
            let read = JsonFields::of(at.clone(), "rules", rule);
            if let Err(error) = read.and_then(|rule| rules.add(index, rule)) {
                rules.unsupported.push(Unsupported::left_out(at, error));
            }
        }
        rules
    }

    fn add(&mut self, index: usize, mut rule: JsonFields) -> Read<()> {
        let description = rule.text("description")?.unwrap_or_default();
        let expression = rule.text("expression")?;
        let expression = rule.required("expression", expression)?;
        let action = rule.text("action")?;
        let is_enabled = rule.truth("enabled")?.unwrap_or(true);
        let of_expression = rule.path("expression");
        let of_action = rule.path("action");
        rule.report_rest(READ_ONLY, &mut self.unsupported);
        if action.as_deref().is_some_and(|action| action != BYPASS) {
            let why =
                format!("only {BYPASS:?} has a counterpart, not {:?}", action.unwrap_or_default());
            self.unsupported.push(Unsupported::new(of_action, why));
            return Ok(());
        }
        if !is_enabled {
            let why = format!("the rule is not enabled, so it is left out: {expression}");
            self.unsupported.push(Unsupported::new(of_expression, why));
            return Ok(());
        }
        let all = match branches(&expression) {
            Ok(all) => all,
            Err(why) => {
                let shown: String = expression.chars().take(MAX_SHOWN).collect();
                let why = format!("the expression cannot be read, because {why}: {shown}");
                self.unsupported.push(Unsupported::new(of_expression, why));
                return Ok(());
            }
        };
        let name = name(&description, index);
        for branch in all {
            match branch {
                Branch { unreadable: Some(text), .. } => {
                    let why =
                        format!("no bypass rule in a file can express `{text}`{}", advice(&text));
                    self.unsupported.push(Unsupported::new(of_expression.clone(), why));
                }
                Branch { tests, .. } if tests.len() > MAX_TESTS => {
                    let why = format!("a rule has at most {MAX_TESTS} tests: {expression}");
                    self.unsupported.push(Unsupported::new(of_expression.clone(), why));
                }
                Branch { tests, .. } => {
                    let rule = rule_in_a_file(&name, tests);
                    match self.check(&rule) {
                        Ok(()) => self.bypass.push(rule),
                        Err(error) => {
                            let at = of_expression.clone();
                            self.unsupported.push(Unsupported::left_out(at, error));
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Checks that a configuration stays valid when this rule is added to the others.
    fn check(&self, rule: &Value) -> Read<()> {
        if self.bypass.len() == Self::MAX_RULES {
            let given = "one rule too many";
            let expected = format!("at most {}", Self::MAX_RULES);
            return Err(ConfigError::new(ConfigErrorKind::TooLarge, "bypass", given, expected));
        }
        let file = json!({
            "name": "rule", "total_active_users": 1, "new_users_per_minute": 1, "bypass": [rule],
        });
        serde_json::from_value::<WaitingRoomConfig>(file).map(drop).map_err(refused)
    }
}

/// Returns a rule in the form of a configuration file.
fn rule_in_a_file(name: &str, mut tests: Vec<Value>) -> Value {
    let mut rule = match tests.pop() {
        Some(test) if tests.is_empty() => test,
        last => {
            tests.extend(last);
            json!({ "all": tests })
        }
    };
    rule["name"] = name.into();
    rule
}

/// Returns advice about a condition that has no counterpart.
fn advice(text: &str) -> &'static str {
    match text {
        _ if text.contains("ends_with(http.request.uri.path") => {
            "; use Bypass::when in code, and note that a client can append the ending to any path"
        }
        _ if text.contains('$') => "; write the addresses of the list into the file",
        _ => "; use Bypass::when in code",
    }
}

/// Returns the name of a rule, which is part of the reason `bypass:<name>`: the letters and digits
/// of its description, or its number, counted from 1.
fn name(description: &str, index: usize) -> String {
    let words = description.split(|char: char| !char.is_ascii_alphanumeric());
    let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
    let name: String = words.join("-").to_ascii_lowercase().chars().take(MAX_NAME).collect();
    if name.is_empty() { format!("rule-{}", index + 1) } else { name }
}

/// The only action of a waiting room's rules.
const BYPASS: &str = "bypass_waiting_room";

/// The fields that Cloudflare sets, and that have no effect.
const READ_ONLY: &[&str] = &["id", "last_updated", "version"];

/// The maximum number of tests of a rule in a configuration file.
const MAX_TESTS: usize = 16;

/// The maximum length of a rule's name.
const MAX_NAME: usize = 40;

/// The maximum number of characters of an expression that are shown.
const MAX_SHOWN: usize = 4096;
