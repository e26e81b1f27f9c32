//! The encoding of the front of a line.

use crate::escrow::{
    LineFront,
    front::Bucket,
    wire::bytes::{Reader, WireError, Writer},
};

/// Writes each bucket as the difference to the one before. A bucket of a line that moves has two or
/// three bytes.
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
    let (mut front, mut next) = (LineFront::new(), 0_u64);
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
