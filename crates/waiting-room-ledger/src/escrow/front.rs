//! The front of a site's line, as the site reports it to the global ledger.

use std::{fmt, time::Duration};

use waiting_room_core::Timestamp;

use crate::escrow::wire::bytes::{Reader, WireError, Writer};

/// The oldest visitors who wait in the line of a site: how many of them arrived within each
/// [bucket](Self::WIDTH) of five seconds, by the site's clock.
///
/// The front contains only present visitors for whom the site asks for slots. It contains neither
/// visitors behind the last bucket nor new visitors who have no place in the line yet.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LineFront {
    len: u8,
    /// Unused buckets are zero, so that equal fronts are equal in all bits.
    buckets: [Bucket; Self::MAX_BUCKETS],
}

/// The visitors who arrived within the same five seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Bucket {
    /// The number of buckets between the Unix epoch and this one, by the site's clock.
    pub(super) number: u32,
    /// At least one.
    pub(super) visitors: u32,
}

impl LineFront {
    /// The width of a bucket: 5 s.
    ///
    /// Slots go to the oldest bucket first, so visitors of two sites may be admitted in the wrong order
    /// if they arrived within the same five seconds. A waiting visitor checks in every two seconds at
    /// best, so narrower buckets would not make the order exact either, and 16 of them would cover less
    /// of the line.
    pub const WIDTH: Duration = Duration::from_secs(5);
    /// The maximum number of buckets of a front: 16, which cover at least 80 s of arrivals.
    pub const MAX_BUCKETS: usize = 16;

    /// The front of an empty line.
    #[must_use]
    pub const fn new() -> Self {
        Self { len: 0, buckets: [Bucket { number: 0, visitors: 0 }; Self::MAX_BUCKETS] }
    }

    /// Adds visitors who arrived at this time, behind those in the front. Visitors behind the last
    /// bucket are left out.
    ///
    /// The order of the line wins: a visitor who arrived before the last bucket is added to the
    /// last bucket.
    pub fn add(&mut self, arrived: Timestamp, visitors: u32) {
        let number = u32::try_from(arrived.as_nanos() / WIDTH_NS).unwrap_or(Bucket::LATEST);
        let len = usize::from(self.len);
        if visitors == 0 {
            return;
        }
        if let Some(last) = self.buckets[..len].last_mut()
            && number <= last.number
        {
            last.visitors = last.visitors.saturating_add(visitors);
        } else if let Some(next) = self.buckets.get_mut(len) {
            *next = Bucket { number, visitors };
            self.len += 1;
        }
    }

    /// The beginning of each bucket and the number of its visitors, oldest first.
    pub fn buckets(&self) -> impl Iterator<Item = (Timestamp, u32)> {
        self.as_slice().iter().map(|bucket| (bucket.begins_at(), bucket.visitors))
    }

    /// The number of visitors in the front.
    #[must_use]
    pub fn visitors(&self) -> u64 {
        self.as_slice().iter().map(|bucket| u64::from(bucket.visitors)).sum()
    }

    /// The rest of the front, without its first `visitors` visitors.
    pub(crate) fn behind(&self, mut visitors: u64) -> Self {
        let mut front = Self::new();
        for bucket in self.as_slice() {
            let skipped = u64::from(bucket.visitors).min(visitors);
            visitors -= skipped;
            let left = u64::from(bucket.visitors) - skipped;
            front.add(bucket.begins_at(), u32::try_from(left).unwrap_or(u32::MAX));
        }
        front
    }

    /// Returns whether no visitor is in the front.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(super) fn as_slice(&self) -> &[Bucket] {
        &self.buckets[..usize::from(self.len)]
    }

    /// The bucket of the visitor with `ahead` others ahead of it, and the number of visitors in the
    /// bucket from that visitor on. `None` if that visitor is behind the last bucket.
    pub(super) fn place(&self, mut ahead: u64) -> Option<(Bucket, u64)> {
        for &bucket in self.as_slice() {
            let visitors = u64::from(bucket.visitors);
            if ahead < visitors {
                return Some((bucket, visitors - ahead));
            }
            ahead -= visitors;
        }
        None
    }
}

impl Bucket {
    /// The number of the last bucket that a [`Timestamp`] can be in.
    pub(super) const LATEST: u32 = (u64::MAX / WIDTH_NS) as u32;

    /// The time at which the bucket begins, by the site's clock.
    pub(super) fn begins_at(self) -> Timestamp {
        Timestamp::from_nanos(u64::from(self.number).saturating_mul(WIDTH_NS))
    }
}

impl fmt::Debug for LineFront {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map()
            .entries(self.as_slice().iter().map(|bucket| (bucket.number, bucket.visitors)))
            .finish()
    }
}

/// Writes each bucket as the difference from the one before. In a line that moves, a bucket takes
/// two or three bytes.
pub(super) fn write_front(writer: &mut Writer, front: &LineFront) {
    let buckets = front.as_slice();
    writer.count(buckets.len() as u64);
    let mut next = 0;
    for &Bucket { number, visitors } in buckets {
        writer.count(u64::from(number) - next).count(visitors.into());
        next = u64::from(number) + 1;
    }
}

/// Reads a front. Its buckets are in the order of time, and none is empty.
pub(super) fn read_front(reader: &mut Reader<'_>) -> Result<LineFront, WireError> {
    let invalid = |field| WireError::Value { field };
    let buckets = reader.count("front", LineFront::MAX_BUCKETS as u64)?;
    let mut front = LineFront::new();
    let mut next = 0_u64;
    for _ in 0..buckets {
        let number = next + reader.count("bucket", Bucket::LATEST.into())?;
        let visitors = reader.count("visitors", u32::MAX.into())?;
        let number = u32::try_from(number).map_err(|_| invalid("bucket"))?;
        if number > Bucket::LATEST {
            return Err(invalid("bucket"));
        }
        let visitors = u32::try_from(visitors).map_err(|_| invalid("visitors"))?;
        if visitors == 0 {
            return Err(invalid("visitors"));
        }
        front.add(Bucket { number, visitors }.begins_at(), visitors);
        next = u64::from(number) + 1;
    }
    Ok(front)
}

/// [`LineFront::WIDTH`] in nanoseconds.
pub(super) const WIDTH_NS: u64 = LineFront::WIDTH.as_secs() * 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn front(arrivals: &[(u64, u32)]) -> LineFront {
        let mut front = LineFront::new();
        arrivals.iter().for_each(|&(at, visitors)| front.add(Timestamp::from_secs(at), visitors));
        front
    }

    fn seconds(front: &LineFront) -> Vec<(u64, u32)> {
        front.buckets().map(|(at, visitors)| (at.as_secs(), visitors)).collect()
    }

    #[test]
    fn visitors_of_the_same_five_seconds_are_in_one_bucket() {
        let front = front(&[(100, 1), (104, 2), (105, 1), (119, 3)]);
        assert_eq!(seconds(&front), [(100, 3), (105, 1), (115, 3)]);
        assert_eq!(front.visitors(), 7);
    }

    #[test]
    fn visitors_behind_the_last_bucket_are_left_out() {
        let front = front(&(0..20).map(|n| (10 * n, 2)).collect::<Vec<_>>());
        assert_eq!(seconds(&front).last(), Some(&(150, 2)));
        assert_eq!(front.visitors(), 32);
    }

    /// A head start, or a place that was taken up again, does not reorder the visitors in front.
    #[test]
    fn the_order_of_the_line_wins_over_the_time_of_arrival() {
        assert_eq!(seconds(&front(&[(100, 1), (20, 1), (105, 1)])), [(100, 2), (105, 1)]);
    }

    #[test]
    fn an_empty_line_has_no_bucket_and_no_time_or_count_is_too_large() {
        assert!(front(&[(100, 0)]).is_empty());
        let mut front = LineFront::new();
        front.add(Timestamp::MAX, u32::MAX);
        front.add(Timestamp::MAX, u32::MAX);
        let times: Vec<_> = front.buckets().map(|(_, visitors)| visitors).collect();
        assert_eq!(times, [u32::MAX]);
    }

    #[test]
    fn a_place_in_the_line_belongs_to_a_bucket() {
        let front = front(&[(100, 2), (110, 3)]);
        let place =
            |ahead| front.place(ahead).map(|(bucket, rest)| (bucket.begins_at().as_secs(), rest));
        assert_eq!(
            [0, 1, 2, 4].map(place),
            [Some((100, 2)), Some((100, 1)), Some((110, 3)), Some((110, 1))]
        );
        assert_eq!(place(5), None);
    }

    #[test]
    fn a_bucket_of_a_line_that_moves_has_two_or_three_bytes() {
        let mut front = LineFront::new();
        let begin = Timestamp::from_secs(1_700_000_000);
        for bucket in 0..16_u32 {
            front.add(begin + bucket * LineFront::WIDTH + Duration::from_secs(1), 10 * bucket + 1);
        }
        let mut writer = Writer::new();
        write_front(&mut writer, &front);
        let bytes = writer.into_bytes();
        // The first bucket is counted from the Unix epoch, which takes five bytes.
        assert!((1 + 6 + 15 * 2..=1 + 7 + 15 * 3).contains(&bytes.len()), "{} bytes", bytes.len());
        assert_eq!(read_front(&mut Reader::new(&bytes)), Ok(front));
    }
}
