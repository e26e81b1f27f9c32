//! Splits the template of the default page into constant texts and the slots between them.
//!
//! This is not a template engine. Only the expressions and conditions that occur in `page.html` are
//! supported. [`Slot::of`] and [`Guard::of`] list them, and the parent module computes their
//! values. The statements of `if` blocks become jumps over other steps. No other statements become
//! steps.

use std::sync::Arc;

use crate::{
    request::Language,
    respond::{
        html::{direction, escape, label},
        look::Look,
    },
};

/// A step in rendering the page.
#[derive(Debug)]
pub(super) enum Step {
    /// Continues with the step at this index.
    Jump(usize),
    /// Writes a value.
    Slot(Slot),
    /// Writes a constant text.
    Text(String),
    /// Continues with the step at this index unless the condition holds.
    Unless(Guard, usize),
}

/// An expression in the template whose value differs from answer to answer.
#[derive(Clone, Copy, Debug)]
pub(super) enum Slot {
    AfterNumber,
    Again,
    BeforeNumber,
    Clock,
    Detail,
    Headline,
    Keep,
    Now,
    Number,
    Outcome,
    Position,
    Progress,
    Push,
    Retry,
    Title,
    Transfer,
    Wait,
    WindowTitle,
}

impl Slot {
    /// Returns the slot for an expression of the template.
    fn of(expression: &str) -> Option<Self> {
        Some(match expression {
            "around[0]" => Self::BeforeNumber,
            "around[1]" => Self::AfterNumber,
            "message.again or \"\"" => Self::Again,
            "message.detail or \"\"" => Self::Detail,
            "message.headline" => Self::Headline,
            "message.keep or \"\"" => Self::Keep,
            "message.number" => Self::Number,
            "message.position" => Self::Position,
            "message.title" => Self::WindowTitle,
            "message.wait or \"\"" => Self::Wait,
            "now" => Self::Now,
            "now[11:16]" => Self::Clock,
            "outcome" => Self::Outcome,
            "progress" => Self::Progress,
            "push" => Self::Push,
            "retry_after or 20" => Self::Retry,
            "title" => Self::Title,
            "transfer" => Self::Transfer,
            _ => return None,
        })
    }
}

/// A condition in the template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Guard {
    HasNumber,
    HasPush,
    HasTransfer,
    IsApproximate,
    IsLong,
    IsUnsent,
    IsWaiting,
    MayReturn,
    MayReturnByItself,
    NoAgain,
    NoDetail,
    NoKeep,
    NoProgress,
    NoWait,
}

impl Guard {
    /// All conditions.
    pub(super) const ALL: [Self; 14] = [
        Self::HasNumber,
        Self::HasPush,
        Self::HasTransfer,
        Self::IsApproximate,
        Self::IsLong,
        Self::IsUnsent,
        Self::IsWaiting,
        Self::MayReturn,
        Self::MayReturnByItself,
        Self::NoAgain,
        Self::NoDetail,
        Self::NoKeep,
        Self::NoProgress,
        Self::NoWait,
    ];

    /// Returns the condition for an expression of the template.
    fn of(expression: &str) -> Option<Self> {
        Some(match expression {
            "labels.unsent" => Self::IsUnsent,
            "message.number" => Self::HasNumber,
            "message.number|length > 5" => Self::IsLong,
            "not message.again" => Self::NoAgain,
            "not message.detail" => Self::NoDetail,
            "not message.keep" => Self::NoKeep,
            "not message.wait" => Self::NoWait,
            "outcome == \"refuse\" and retry_after" => Self::MayReturn,
            "outcome == \"refuse\" and retry_after and not labels.unsent" => {
                Self::MayReturnByItself
            }
            "outcome == \"wait\"" => Self::IsWaiting,
            "position is none or is_approximate" => Self::IsApproximate,
            "progress is none" => Self::NoProgress,
            "push" => Self::HasPush,
            "transfer" => Self::HasTransfer,
            _ => return None,
        })
    }
}

/// Splits the page for one language.
///
/// # Panics
///
/// Panics if the page contains an expression or a statement that is not listed in this file. Tests
/// rule that out.
pub(super) fn split(template: &str, language: Language, look: &Look) -> Vec<Step> {
    let (steps, open) = (Vec::new(), Vec::new());
    let mut splitter = Splitter { language, look, steps, open, target: 0, left_out: 0 };
    // `minijinja` also removes one line break at the end of a template.
    splitter.read(template.strip_suffix('\n').unwrap_or(template));
    splitter.steps
}

/// Splits the template into steps.
struct Splitter<'a> {
    language: Language,
    look: &'a Look,
    steps: Vec<Step>,
    /// The `if` blocks that have not ended yet, innermost last.
    open: Vec<OpenIf>,
    /// The largest step index that is the target of a jump. A text that starts at a target must not
    /// be joined to the text before it.
    target: usize,
    /// The number of open blocks that are left out, because they are for a setting that is not set.
    left_out: usize,
}

/// An `if` block whose end has not been found yet.
#[derive(Default)]
struct OpenIf {
    /// The index of the last [`Step::Unless`], if its branch has not ended yet.
    unless: Option<usize>,
    /// The indices of the jumps at the ends of the earlier branches.
    jumps: Vec<usize>,
}

impl Splitter<'_> {
    /// Adds the steps of a template.
    fn read(&mut self, template: &str) {
        let mut rest = template;
        while let Some((text, tag)) = rest.split_once('{') {
            let close = match tag.as_bytes().first() {
                Some(b'{') => "}}",
                Some(b'%') => "%}",
                Some(b'#') => "#}",
                _ => {
                    self.text(text);
                    self.text("{");
                    rest = tag;
                    continue;
                }
            };
            let (inner, after) = tag[1..].split_once(close).expect("every tag of the page ends");
            // A hyphen at either end of a tag removes the adjacent white space outside the tag.
            let (inner, trims_before) = trimmed(inner, str::strip_prefix);
            let (inner, trims_after) = trimmed(inner, str::strip_suffix);
            self.text(if trims_before { text.trim_end() } else { text });
            rest = if trims_after { after.trim_start() } else { after };
            match close {
                "}}" => self.expression(inner.trim()),
                "%}" => self.statement(inner.trim()),
                _ => {}
            }
        }
        self.text(rest);
        assert!(self.open.is_empty(), "every block of the page ends");
    }

    /// Adds a constant text.
    fn text(&mut self, text: &str) {
        let is_target = self.target == self.steps.len();
        match self.steps.last_mut() {
            _ if text.is_empty() || self.left_out > 0 => {}
            Some(Step::Text(before)) if !is_target => before.push_str(text),
            _ => self.steps.push(Step::Text(text.to_owned())),
        }
    }

    /// Adds the step for an expression: a constant text in this language, or a slot.
    fn expression(&mut self, expression: &str) {
        if self.left_out > 0 {
            return;
        }
        let setting = self.setting(expression).flatten();
        let phrase = expression.strip_prefix("labels.").and_then(label);
        if let Some(phrase) = phrase {
            let mut text = String::new();
            escape(&self.language.phrase(phrase), &mut text);
            self.text(&text);
        } else if let Some(setting) = setting {
            let mut text = String::new();
            escape(&setting, &mut text);
            self.text(&text);
        } else if expression == "lang" {
            self.text(self.language.tag());
        } else if expression == "dir" {
            self.text(direction(self.language));
        } else {
            let slot = Slot::of(expression);
            let slot = slot.unwrap_or_else(|| panic!("{expression:?} is not a slot of the page"));
            self.steps.push(Step::Slot(slot));
        }
    }

    /// Returns the value of a setting. The inner option is `None` if the setting is not set, and the
    /// outer one if the expression is not the name of a setting.
    fn setting(&self, expression: &str) -> Option<Option<Arc<str>>> {
        Some(match expression {
            "logo" => self.look.logo.clone(),
            "notice" => self.look.notice.clone(),
            "palette" => Some(Arc::clone(&self.look.palette)),
            "support" => self.look.support.clone(),
            // Without a title, the page has the name of the room, which answers contain.
            "title" => self.look.title.clone(),
            _ => return None,
        })
    }

    /// Adds the jumps for a statement.
    fn statement(&mut self, statement: &str) {
        let (verb, expression) = statement.split_once(' ').unwrap_or((statement, ""));
        if self.left_out > 0 {
            match verb {
                "if" => self.left_out += 1,
                "endif" => self.left_out -= 1,
                _ => {}
            }
            return;
        }
        if verb == "if"
            && let Some(setting) = self.setting(expression)
        {
            match setting {
                // A block without a condition ends like any other.
                Some(_) => self.open.push(OpenIf::default()),
                None => self.left_out = 1,
            }
            return;
        }
        match verb {
            "if" => {
                self.open.push(OpenIf::default());
                self.unless(expression);
            }
            "elif" => {
                self.end_branch();
                self.unless(expression);
            }
            "else" => self.end_branch(),
            "endif" => self.end_block(),
            // A `set` statement needs no step, because its variable has slots.
            "set" => {}
            _ => panic!("{statement:?} is not a statement of the page"),
        }
    }

    /// Begins a branch that is skipped unless a condition holds.
    fn unless(&mut self, expression: &str) {
        let condition = Guard::of(expression);
        let condition = condition.unwrap_or_else(|| panic!("{expression:?} is not a condition"));
        let block = self.open.last_mut().expect("a branch belongs to a block");
        block.unless = Some(self.steps.len());
        self.steps.push(Step::Unless(condition, 0));
    }

    /// Ends a branch that is not the last of its block.
    fn end_branch(&mut self) {
        let block = self.open.last_mut().expect("a branch belongs to a block");
        block.jumps.push(self.steps.len());
        self.steps.push(Step::Jump(0));
        self.target = self.steps.len();
        if let Some(index) = block.unless.take()
            && let Step::Unless(_, end) = &mut self.steps[index]
        {
            *end = self.target;
        }
    }

    /// Ends a block.
    fn end_block(&mut self) {
        let block = self.open.pop().expect("every block that ends has begun");
        self.target = self.steps.len();
        for index in block.jumps.into_iter().chain(block.unless) {
            if let Step::Jump(end) | Step::Unless(_, end) = &mut self.steps[index] {
                *end = self.target;
            }
        }
    }
}

/// Removes a hyphen from one end of a tag's content. Also returns whether there was a hyphen.
fn trimmed(inner: &str, strip: for<'b> fn(&'b str, char) -> Option<&'b str>) -> (&str, bool) {
    strip(inner, '-').map_or((inner, false), |inner| (inner, true))
}
