//! Mutations of an input.

use rand::{RngExt, rngs::Xoshiro256PlusPlus};

/// Changes an input at a few random positions, so that it has at most `longest` bytes. `other` is a second
/// input, of which a part may be taken, and `words` has texts that the parser looks for.
pub(crate) fn mutate(
    input: &mut Vec<u8>,
    other: &[u8],
    words: &[&str],
    longest: usize,
    random: &mut Xoshiro256PlusPlus,
) {
    for _ in 0..1 << random.random_range(0..4) {
        let at = random.random_range(0..=input.len());
        let end = random.random_range(at..=input.len().min(at + 64));
        match random.random_range(0..9) {
            0 => input.insert(at, random.random()),
            1 if at < input.len() => input[at] = random.random(),
            2 if at < input.len() => input[at] ^= 1 << random.random_range(0..8),
            3 => drop(input.drain(at..end)),
            4 => repeat(input, at, end, random.random_range(1..=64)),
            5 => repeat(input, at, end, longest),
            6 if !other.is_empty() => {
                let from = random.random_range(0..other.len());
                let to = random.random_range(from..=other.len().min(from + 256));
                input.splice(at..end, other[from..to].iter().copied());
            }
            _ => {
                let word = words[random.random_range(0..words.len())];
                input.splice(at..at, word.bytes());
            }
        }
        input.truncate(longest);
    }
}

/// Repeats a part of an input, but adds at most 16 KiB.
fn repeat(input: &mut Vec<u8>, at: usize, end: usize, times: usize) {
    let part = input[at..end].to_vec();
    let times = times.min((16 * 1024) / part.len().max(1));
    input.splice(end..end, part.repeat(times));
}
