//! Lists with weights, such as `Accept` and `Accept-Language` (RFC 9110 sections 5.6.1 and 12.4.2).
//!
//! A client can send a new list with every request, so the functions in this module do not allocate
//! memory, and at most [`MAX_ELEMENTS`] elements of a list are read.

/// An element of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Element<'a> {
    /// The text before the parameters, without spaces around it. It may be empty.
    pub(super) name: &'a [u8],
    /// The weight in thousandths, [`MAX_WEIGHT`] if there is no weight, or `None` if the weight is
    /// malformed. If there are several weights, the first one counts.
    pub(super) weight: Option<u16>,
}

/// Returns the first elements of a list, each with the result of `known` for its name. If the
/// result is `None`, the element does not matter, and its weight is not read.
#[inline]
pub(super) fn elements<'a, T>(
    list: &'a [u8],
    known: impl Fn(&'a [u8]) -> Option<T>,
) -> impl Iterator<Item = (Element<'a>, Option<T>)> {
    Elements { rest: Some(list), known }.take(MAX_ELEMENTS)
}

/// Iterates over all elements of a list. `rest` is the unread part, or `None` after the last
/// element.
struct Elements<'a, F> {
    rest: Option<&'a [u8]>,
    known: F,
}

impl<'a, T, F: Fn(&'a [u8]) -> Option<T>> Iterator for Elements<'a, F> {
    type Item = (Element<'a>, Option<T>);

    /// Reads an element. The method is inlined, because parsing a list spends most of its time
    /// here.
    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        let (name, rest) = until_delimiter(self.rest?.trim_ascii_start());
        let name = name.trim_ascii_end();
        let known = (self.known)(name);
        let (weight, after) = match known {
            None => (Some(MAX_WEIGHT), after_parameters(rest)),
            Some(_) => weight(rest),
        };
        self.rest = after.split_first().map(|(_comma, after)| after);
        Some((Element { name, weight }, known))
    }
}

/// Skips the parameters of a list element, and returns the comma and all later elements.
#[inline(always)]
fn after_parameters(parameters: &[u8]) -> &[u8] {
    let mut text = parameters;
    while let [byte, after @ ..] = text {
        text = match byte {
            b',' => break,
            // Only a quoted string can contain a comma.
            b'"' => return weight(parameters).1,
            _ => after,
        };
    }
    text
}

/// `text` begins with the parameters of a list element. Returns their weight, and what follows
/// them: the comma and all later elements.
#[inline(always)]
fn weight(mut rest: &[u8]) -> (Option<u16>, &[u8]) {
    let mut weight = None;
    while let [b';', after @ ..] = rest {
        rest = without_empty_parameters(after);
        if let [b'q' | b'Q', after @ ..] = rest
            && let [b'=', after @ ..] = after.trim_ascii_start()
        {
            let (value, after) = thousandths(after.trim_ascii_start());
            weight = weight.or(Some(value));
            rest = after;
        } else {
            rest = after_parameter(rest);
        }
    }
    (weight.unwrap_or(Some(MAX_WEIGHT)), rest)
}

/// Splits a text before the first comma or semicolon.
#[inline]
fn until_delimiter(text: &[u8]) -> (&[u8], &[u8]) {
    let is_delimiter = |byte: &u8| matches!(byte, b',' | b';');
    let end = text.iter().position(is_delimiter);
    text.split_at(end.unwrap_or(text.len()))
}

/// Returns the rest of the text, starting at the first comma or semicolon outside quoted strings
/// (RFC 9110 section 5.6.4).
#[inline]
fn after_parameter(mut text: &[u8]) -> &[u8] {
    while let [byte, after @ ..] = text {
        text = match byte {
            b',' | b';' => break,
            b'"' => after_quoted(after),
            _ => after,
        };
    }
    text
}

/// Returns the text after the end of a quoted string.
fn after_quoted(mut text: &[u8]) -> &[u8] {
    loop {
        text = match text {
            [] => return text,
            [b'"', after @ ..] => return after,
            [b'\\', _, after @ ..] | [_, after @ ..] => after,
        };
    }
}

/// Removes spaces and semicolons from the beginning of a text. A parameter may be empty (RFC 9110
/// section 5.6.6).
#[inline(always)]
fn without_empty_parameters(mut text: &[u8]) -> &[u8] {
    while let [b' ' | b'\t' | b';', after @ ..] = text {
        text = after;
    }
    text
}

/// Parses a decimal number from 0 to 1 in thousandths, and cuts off further digits. Also returns
/// the rest of the text, starting at the next comma or semicolon.
#[inline(always)]
fn thousandths(text: &[u8]) -> (Option<u16>, &[u8]) {
    let (mut value, mut rest) = match text {
        [b'0', rest @ ..] => (0, rest),
        [b'1', rest @ ..] => (MAX_WEIGHT, rest),
        [b'.', b'0'..=b'9', ..] => (0, text),
        _ => return (None, until_delimiter(text).1),
    };
    if let [b'.', digits @ ..] = rest {
        let mut unit = 100;
        rest = digits;
        while let [digit @ b'0'..=b'9', after @ ..] = rest {
            value += u16::from(digit - b'0') * unit;
            rest = after;
            unit /= 10;
        }
    }
    rest = rest.trim_ascii_start();
    if let [] | [b',' | b';', ..] = rest {
        return ((value <= MAX_WEIGHT).then_some(value), rest);
    }
    (None, until_delimiter(rest).1)
}

/// The highest weight in thousandths, which is also the default.
pub(super) const MAX_WEIGHT: u16 = 1000;

/// The maximum number of elements of a list that are read. Browsers send up to a dozen.
pub(super) const MAX_ELEMENTS: usize = 16;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns all elements of a list.
    fn all(list: &[u8]) -> impl Iterator<Item = Element<'_>> {
        elements(list, |_| Some(())).map(|(element, _)| element)
    }

    #[test]
    fn the_first_weight_counts() {
        let cases = [
            ("", Some(1_000)),
            (";q=0.5", Some(500)),
            (" ; q=0.25 ;q=1", Some(250)),
            (";Q = 1.000", Some(1_000)),
            (";a=\";q=0\";q=.2", Some(200)),
            (";v=b3;q=0", Some(0)),
            (";q=0.1239", Some(123)),
            (";q=0. ;a", Some(0)),
            (";;\t; ;q=.5;;", Some(500)),
            (";qs=0.5", Some(1_000)),
            (";q", Some(1_000)),
            (";q=", None),
            (";q=.", None),
            (";q=-0", None),
            (";q=1.001", None),
            (";q=2", None),
            (";q=10", None),
            (";q=0.x", None),
            (";q=0.123x", None),
            (";q=0.5 5", None),
            (";q=\"0.5\"", None),
            (";q=NaN;q=1", None),
        ];
        for (parameters, weight) in cases {
            let list = format!("a{parameters},b");
            let found: Vec<_> = all(list.as_bytes()).collect();
            let b = Element { name: b"b", weight: Some(MAX_WEIGHT) };
            assert_eq!(found, [Element { name: b"a", weight }, b], "{parameters:?}");
        }
    }

    proptest! {
        #[test]
        fn an_ignored_element_ends_at_the_same_place(list in "[,;q=\"\\\\a .1]{0,60}") {
            let skipped = elements(list.as_bytes(), |_| None::<()>).map(|(element, _)| element.name);
            let read = all(list.as_bytes()).map(|element| element.name);
            prop_assert_eq!(skipped.collect::<Vec<_>>(), read.collect::<Vec<_>>());
        }

        #[test]
        fn any_bytes_are_a_list(list in prop::collection::vec(any::<u8>(), 0..60)) {
            for element in all(&list) {
                prop_assert!(element.weight.is_none_or(|weight| weight <= MAX_WEIGHT));
            }
        }
    }
}
