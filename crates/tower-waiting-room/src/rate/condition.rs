//! What a rules file demands of a request.

use std::sync::Arc;

use super::literal::{Literal, Test};
use crate::request::{Caller, Doubt, Part};

/// What a part of a request has to be, by a rules file.
#[derive(Clone, Debug)]
pub(crate) struct Condition {
    pub(crate) part: Part,
    /// This; or anything, if it is there.
    pub(crate) is: Option<Literal>,
    /// None of these.
    pub(crate) is_not: Arc<[Literal]>,
}

impl Condition {
    /// Whether a request is as demanded. A path that not every reader takes for the same is every
    /// path that it may be, and escapes nothing by being one of them.
    ///
    /// Without a value it is none of those excepted; what then holds, the limit's `missing_key`
    /// says.
    pub(crate) fn holds(&self, caller: &Caller<'_>) -> bool {
        // An address is compared as one, and not worth a text.
        let is_text = |literal: &Literal| literal.test == Test::Text;
        let has_text = self.is.iter().chain(self.is_not.first()).any(is_text);
        let text = has_text.then(|| self.part.value(caller)).flatten();
        let has = |literal: &Literal, doubt| match &literal.test {
            Test::Address(network) => caller.address().is_some_and(|it| network.contains(&it)),
            Test::Request(matcher) => matcher.covers(&caller.head, doubt),
            Test::Text => text.as_deref() == Some(literal.as_str().as_bytes()),
        };
        self.is.as_ref().is_none_or(|it| has(it, Doubt::Covered))
            && !self.is_not.iter().any(|it| has(it, Doubt::Exempt))
    }
}
