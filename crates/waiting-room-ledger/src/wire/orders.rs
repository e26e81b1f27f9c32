//! The content of a stream besides the messages of the ledgers: the orders of an operator as text, and
//! the sentence that ends a stream.
//!
//! | order | text |
//! |---|---|
//! | [`Order::AddSite`], [`Order::Drain`], [`Order::Remove`] | `add-site 3`, `drain 3`, `remove 3` |
//! | [`Order::Fence`] | `fence 3 1 7`: the site, then the term and the number of its epoch |
//! | [`Order::SetLimit`], [`Order::Status`] | `set-limit 3000`, `status` |

use crate::{
    SiteId,
    escrow::{Epoch, MAX_MESSAGE_LEN, Term},
    holder::Order,
};

/// A frame that ends a stream with a sentence. No message begins with a zero.
pub(crate) fn close(sentence: &str) -> Vec<u8> {
    let bytes = sentence.bytes().take(MAX_MESSAGE_LEN - 1);
    std::iter::once(CLOSE).chain(bytes).collect()
}

/// The sentence of a closing frame; `None` if the frame is a message. A sentence that was cut in
/// the middle of a character ends with a replacement character.
pub(crate) fn sentence_of(content: &[u8]) -> Option<String> {
    let (&CLOSE, sentence) = content.split_first()? else { return None };
    Some(String::from_utf8_lossy(sentence).into_owned())
}

/// Reads an order of an operator.
pub(crate) fn parse_order(text: &str) -> Result<Order, String> {
    let unknown = || format!("order is {text:?}, expected one of this version");
    let words: Vec<_> = text.split(' ').collect();
    let site = |word: &str| word.parse().map(SiteId::new).map_err(|_| unknown());
    match words[..] {
        ["status"] => Ok(Order::Status),
        ["add-site", number] => site(number).map(Order::AddSite),
        ["drain", number] => site(number).map(Order::Drain),
        ["remove", number] => site(number).map(Order::Remove),
        ["set-limit", limit] => limit.parse().map(Order::SetLimit).map_err(|_| unknown()),
        ["fence", number, term, count] => {
            let term = Term::new(term.parse().map_err(|_| unknown())?);
            let epoch = Epoch::new(term, count.parse().map_err(|_| unknown())?);
            Ok(Order::Fence(site(number)?, epoch))
        }
        _ => Err(unknown()),
    }
}

/// Writes an order so that [`parse_order`] reads it.
pub(crate) fn write_order(order: Order) -> String {
    match order {
        Order::AddSite(site) => format!("add-site {}", site.number()),
        Order::Drain(site) => format!("drain {}", site.number()),
        Order::Fence(site, epoch) => {
            format!("fence {} {} {}", site.number(), epoch.term().number(), epoch.count())
        }
        Order::Remove(site) => format!("remove {}", site.number()),
        Order::SetLimit(limit) => format!("set-limit {limit}"),
        Order::Status => "status".to_owned(),
    }
}

/// The first byte of a closing frame.
const CLOSE: u8 = 0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_round_trips() {
        let site = SiteId::new(7);
        let epoch = Epoch::new(Term::new(3), 9);
        for order in [
            Order::AddSite(site),
            Order::Drain(site),
            Order::Fence(site, epoch),
            Order::Remove(site),
            Order::SetLimit(2000),
            Order::Status,
        ] {
            assert_eq!(parse_order(&write_order(order)), Ok(order));
        }
    }

    #[test]
    fn a_sentence_round_trips_and_is_cut_if_it_is_too_long() {
        assert_eq!(sentence_of(&close("it is over")).as_deref(), Some("it is over"));
        assert_eq!(sentence_of(&[1, 2, 3]), None);
        assert_eq!(sentence_of(&[]), None);
        assert_eq!(close(&"x".repeat(1000)).len(), MAX_MESSAGE_LEN);
    }

    #[test]
    fn nonsense_is_no_order() {
        for text in ["", "drain", "drain -1", "drain 65536", "fence 1 2", "status now"] {
            let flaw = parse_order(text).unwrap_err();
            assert_eq!(flaw, format!("order is {text:?}, expected one of this version"));
        }
    }
}
