//! The published facts about the draw of an event, and whether visitors can recompute it.

use std::collections::HashMap;

use serde::Deserialize;
use tower_waiting_room::room::event::{Lottery, Shuffle};
use waiting_room_sim::VisitorNo;

/// The facts about an event in one answer: only public ones.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct EventNotice {
    /// The commitment to the seed, as 64 hexadecimal digits.
    pub(crate) commitment: Option<String>,
    pub(crate) number: Option<u32>,
    pub(crate) place: Option<u32>,
    pub(crate) entrants: Option<u32>,
    /// The seed, as 64 hexadecimal digits.
    pub(crate) seed: Option<String>,
}

/// The facts about a draw that all visitors received.
#[derive(Clone, Debug, Default)]
pub(crate) struct Draw {
    /// The commitment, from the first answer before the start.
    commitment: Option<String>,
    /// The seed and the number of entrants, from the first answer after the start.
    published: Option<(String, u32)>,
    entrants: HashMap<VisitorNo, Entrant>,
    contradictions: u64,
}

/// The facts that one visitor received.
#[derive(Clone, Copy, Debug)]
struct Entrant {
    number: u32,
    place: Option<u32>,
}

/// The result of recomputing the draw for each entrant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recomputed {
    /// The number of visitors who were told a number in the draw.
    pub entrants: u64,
    /// The number of visitors whose place can be computed from the published data.
    pub recomputed: u64,
    /// The number of visitors whose place cannot be computed from that data, or is not the place
    /// that they were told, plus the number of answers that contradict an earlier answer.
    pub mismatches: u64,
    /// The published order.
    pub(crate) order: Option<Shuffle>,
}

impl EventNotice {
    /// Reads the sentences on the waiting page. A browser without scripts sees nothing else.
    pub(crate) fn of_page(page: &str) -> Option<Self> {
        if let Some((_, result)) = page.split_once("Your number ")
            && let Some((number, result)) = result.split_once(" of ")
            && let Some((entrants, result)) = result.split_once(" got place ")
            && let Some((place, result)) = result.split_once(" in the draw.")
        {
            return Some(Self {
                number: digits(number),
                entrants: digits(entrants),
                place: digits(place),
                seed: hex_after(result, "Its seed is "),
                commitment: None,
            });
        }
        let (_, own) = page.split_once("Your number in the draw is ")?;
        let number = digits(own.split_once(". ")?.0);
        let commitment = hex_after(own, "Its commitment is ");
        Some(Self { number, commitment, ..Self::default() })
    }
}

impl Draw {
    /// Records what an answer to a visitor contains.
    pub(crate) fn told(&mut self, visitor: VisitorNo, notice: &EventNotice) {
        if let Some(commitment) = &notice.commitment {
            let known = self.commitment.get_or_insert_with(|| commitment.clone());
            self.contradictions += u64::from(known != commitment);
        }
        if let (Some(seed), Some(entrants)) = (&notice.seed, notice.entrants) {
            let given = (seed.clone(), entrants);
            let known = self.published.get_or_insert_with(|| given.clone());
            self.contradictions += u64::from(*known != given);
        }
        if let Some(number) = notice.number {
            let fresh = Entrant { number, place: None };
            let known = self.entrants.entry(visitor).or_insert(fresh);
            // A visitor whose place has lapsed in the prequeue gets a new number.
            if known.number != number {
                *known = fresh;
            }
            if let (Some(before), Some(now)) = (known.place, notice.place) {
                self.contradictions += u64::from(before != now);
            }
            known.place = known.place.or(notice.place);
        }
    }

    /// Recomputes the places of all entrants of this event, from nothing but what was published.
    pub(crate) fn recompute(&self, room: &str, event: &str) -> Recomputed {
        let order = self.order(room, event);
        let mut result = Recomputed {
            entrants: self.entrants.len() as u64,
            mismatches: self.contradictions,
            ..Recomputed::default()
        };
        for Entrant { number, place: told } in self.entrants.values() {
            let place = order.as_ref().and_then(|order| order.place_of(*number));
            let is_right = place.is_some() && told.is_none_or(|told| place == Some(told));
            result.recomputed += u64::from(is_right);
            result.mismatches += u64::from(!is_right);
        }
        result.order = order;
        result
    }

    /// The order that follows from the published seed, if the seed matches the commitment.
    fn order(&self, room: &str, event: &str) -> Option<Shuffle> {
        let (seed, entrants) = self.published.as_ref()?;
        let lottery = Lottery::new(room, event, seed.parse().ok()?).ok()?;
        let commitment = self.commitment.as_ref()?.parse().ok()?;
        lottery.reveal(*entrants, None).ok()?.verify(&commitment).ok()
    }
}

/// Parses a number that may contain separators, such as 1,234.
pub(crate) fn digits(text: &str) -> Option<u32> {
    text.chars().filter(char::is_ascii_digit).collect::<String>().parse().ok()
}

/// The first 64 hexadecimal digits after these words. The sentence itself contains only the first
/// of these digits.
fn hex_after(text: &str, words: &str) -> Option<String> {
    let (_, rest) = text.split_once(words)?;
    let mut runs = rest.split(|digit: char| !digit.is_ascii_hexdigit());
    runs.find(|run| run.len() == 64).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use tower_waiting_room::room::event::Seed;

    use super::*;

    const SEED: [u8; 32] = [9; 32];

    fn shuffle(entrants: u32) -> (String, Shuffle) {
        let lottery = Lottery::new("shop", "doors", Seed::new(SEED)).unwrap();
        let commitment = lottery.commitment();
        let shuffle = lottery.reveal(entrants, None).unwrap().verify(&commitment).unwrap();
        (commitment.to_string(), shuffle)
    }

    /// A draw of twenty entrants, each of whom was told everything.
    fn draw() -> Draw {
        let (commitment, shuffle) = shuffle(20);
        let mut draw = Draw::default();
        for number in 1..=20 {
            let before = EventNotice {
                commitment: Some(commitment.clone()),
                number: Some(number),
                ..EventNotice::default()
            };
            let after = EventNotice {
                place: shuffle.place_of(number),
                entrants: Some(20),
                seed: Some("09".repeat(32)),
                ..before.clone()
            };
            draw.told(VisitorNo(number.into()), &before);
            draw.told(VisitorNo(number.into()), &after);
        }
        draw
    }

    #[test]
    fn every_entrant_can_recompute_its_place() {
        let Recomputed { entrants, recomputed, mismatches, order, .. } =
            draw().recompute("shop", "doors");
        assert_eq!((entrants, recomputed, mismatches), (20, 20, 0));
        assert_eq!(order.unwrap().entrants(), 20);
    }

    #[test]
    fn a_result_that_contradicts_the_commitment_is_a_mismatch() {
        let mismatches = |draw: &Draw| draw.recompute("shop", "doors").mismatches;
        let mut wrong_place = draw();
        let entrant = wrong_place.entrants.get_mut(&VisitorNo(7)).unwrap();
        entrant.place = entrant.place.map(|place| place % 20 + 1);
        assert_eq!(mismatches(&wrong_place), 1);
        let wrong_seed = Draw { published: Some(("0a".repeat(32), 20)), ..draw() };
        assert_eq!(mismatches(&wrong_seed), 20);
        let mut too_few = draw();
        too_few.published = Some(("09".repeat(32), 19));
        assert!(mismatches(&too_few) > 0);
        let mut two_seeds = draw();
        let other = EventNotice {
            seed: Some("0a".repeat(32)),
            entrants: Some(20),
            ..EventNotice::default()
        };
        two_seeds.told(VisitorNo(1), &other);
        assert_eq!(mismatches(&two_seeds), 1);
        assert_eq!(mismatches(&Draw { commitment: None, ..draw() }), 20);
    }

    #[test]
    fn a_browser_without_scripts_reads_the_same_on_the_page() {
        let seed = "0f".repeat(32);
        let commitment = "f0".repeat(32);
        let before = format!(
            "<summary>Your number in the draw is 1,042. Anyone can check the draw afterwards. Its \
             commitment is f0f0f0f0….</summary><code>{commitment}</code>"
        );
        let notice = EventNotice::of_page(&before).unwrap();
        assert_eq!((notice.number, notice.commitment), (Some(1_042), Some(commitment)));
        let after = format!(
            "<summary>Your number 1042 of 2,000 got place 1,012 in the draw. Anyone can recompute the \
             draw. Its seed is 0f0f0f0f….</summary><code>{seed}</code>"
        );
        let notice = EventNotice::of_page(&after).unwrap();
        assert_eq!((notice.number, notice.entrants), (Some(1_042), Some(2_000)));
        assert_eq!((notice.place, notice.seed), (Some(1_012), Some(seed)));
        assert_eq!(EventNotice::of_page("<p>Your turn is near.</p>"), None);
    }
}
