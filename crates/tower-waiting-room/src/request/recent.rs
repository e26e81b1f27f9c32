//! A small cache of recent header values and of the results computed from them.
//!
//! Most clients send one of a few dozen values of `Accept` and `Accept-Language`. Each thread
//! remembers recent values with their results, so it does not have to parse these values again.
//!
//! The cache is bounded, whatever clients send: the number of its slots is fixed, and long values
//! are not remembered. A client that sends a new value with every request makes the thread forget
//! other values, which then have to be parsed again. The parsers are fast, so this costs little.

/// Remembers up to [`SLOTS`] values of up to `LEN` bytes.
pub(super) struct Recent<T, const LEN: usize>(Box<[Remembered<T, LEN>]>);

/// A slot for one value. The hash of a value determines its slot.
#[derive(Clone, Copy)]
struct Remembered<T, const LEN: usize> {
    /// The value, followed by unused bytes.
    bytes: [u8; LEN],
    /// The length of the value and the result computed from it. `None` if the slot is empty.
    computed: Option<(usize, T)>,
}

impl<T: Copy, const LEN: usize> Recent<T, LEN> {
    /// Creates an empty cache.
    pub(super) fn new() -> Self {
        Self(vec![Remembered { bytes: [0; LEN], computed: None }; SLOTS].into())
    }

    /// Returns the result for this value, and computes it first if the value is not remembered.
    pub(super) fn get(&mut self, value: &[u8], compute: impl FnOnce(&[u8]) -> T) -> T {
        self.get_if(value, |_| true, compute)
    }

    /// Returns the result for this value, and computes it first if the value is not remembered, or
    /// if the remembered result does not apply.
    pub(super) fn get_if(
        &mut self,
        value: &[u8],
        applies: impl FnOnce(T) -> bool,
        compute: impl FnOnce(&[u8]) -> T,
    ) -> T {
        if value.len() > LEN {
            return compute(value);
        }
        let slot = &mut self.0[index(value)];
        match slot.computed {
            Some((len, computed)) if slot.bytes[..len] == *value && applies(computed) => computed,
            _ => {
                let computed = compute(value);
                slot.bytes[..value.len()].copy_from_slice(value);
                slot.computed = Some((value.len(), computed));
                computed
            }
        }
    }
}

/// Returns the slot of a value. The hash is simple, because a client gains nothing by finding
/// values with the same slot.
fn index(value: &[u8]) -> usize {
    let mix = |hash: u64, word: u64| (hash.rotate_left(5) ^ word).wrapping_mul(MULTIPLIER);
    let (words, rest) = value.as_chunks();
    let hash = words.iter().fold(value.len() as u64, |it, word| mix(it, u64::from_le_bytes(*word)));
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let hash = mix(hash, u64::from_le_bytes(last));
    // The highest bits depend on all bits of the value.
    usize::from((hash >> 56).to_le_bytes()[0]) % SLOTS
}

/// The number of values that are remembered. It is several times that of the values that are common,
/// so few of these share a slot.
const SLOTS: usize = 256;

/// An odd number with random bits: the multiplier of the hash function in Firefox and rustc.
const MULTIPLIER: u64 = 0x517c_c1b7_2722_0a95;

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// A cache that counts how often a result is computed.
    struct Counted {
        recent: Recent<usize, 16>,
        computed: Cell<usize>,
    }

    impl Counted {
        fn get(&mut self, value: &str) -> usize {
            self.recent.get(value.as_bytes(), |value| {
                self.computed.set(self.computed.get() + 1);
                value.iter().map(|byte| usize::from(*byte)).sum()
            })
        }
    }

    #[test]
    fn a_value_is_computed_once_and_a_long_one_each_time() {
        let mut counted = Counted { recent: Recent::new(), computed: Cell::new(0) };
        for _ in 0..3 {
            assert_eq!((counted.get("a"), counted.get("ab")), (97, 195));
        }
        assert_eq!(counted.computed.get(), 2);
        for _ in 0..3 {
            assert_eq!(counted.get(&"a".repeat(17)), 17 * 97);
        }
        assert_eq!(counted.computed.get(), 5);
        assert_eq!((counted.get(""), counted.get("")), (0, 0));
        assert_eq!(counted.computed.get(), 6);
    }

    #[test]
    fn more_values_than_slots_are_computed_correctly() {
        let mut counted = Counted { recent: Recent::new(), computed: Cell::new(0) };
        for value in (0..10_000).map(|number: u32| number.to_string()).chain(["7".to_owned()]) {
            assert_eq!(counted.get(&value), value.bytes().map(usize::from).sum::<usize>());
        }
    }

    #[test]
    fn the_values_of_a_dozen_clients_have_slots_of_their_own() {
        let values = (0..12).map(|number| format!("text/html,*/*;q=0.{number}"));
        let slots: std::collections::HashSet<_> = values.map(|it| index(it.as_bytes())).collect();
        assert!(slots.len() >= 10, "{slots:?}");
    }
}
