//! The payload of a token: a pass or a ticket, in a fixed layout of whole words.
//!
//! ```text
//! pass    layout 4 │ id 16 │ bucket 4 │ accepted_at 8 │ last_check_in 8 │ expires_at 8
//!         of a site, also: site 4 │ term 4 │ count 4 │ zeros 4
//! ticket  layout 4 │ id 16 │ first_seen 8 │ last_check_in 8 │ next_check_in 8
//!                  │ shown_position 4 │ p25 4 │ p50 4 │ p75 4 │ flags 4
//!         with a number in a draw, also: draw 4 │ number 4 │ place 4 │ entrants 4
//!         of a late place, also: late_by 4 │ zeros 12
//! ```
//!
//! All numbers are little-endian. Timestamps are in nanoseconds since the Unix epoch, and waits are
//! in whole seconds. A ticket's bucket is not stored, since [`Ticket::bucket`] derives it from
//! `first_seen`. A position of 0 means that no position was shown, and three waits of `u32::MAX`
//! mean that the wait is unknown. Bit 0 of the flags is set if the ticket has a place, bit 1 if its
//! position is approximate, bits 2 to 18 contain the promised wait plus 1, or 0 without a promise,
//! and bits 19 to 31 contain the head start. A release without head starts rejects a ticket that
//! has one. A ticket with a number in the draw of an event has layout 2. Before the draw, its place
//! is 0 and the number of entrants is `u32::MAX`. A pass with a home, which is one of several
//! sites, has layout 3. A ticket of a late place has layout 4. The lengths of a pass and of a
//! ticket are multiples of 16, the block size of the cipher in bytes, because a partial block would
//! cost one more call to the cipher.
//!
//! Every change to the layout increments the layout number. A payload with an unknown layout
//! number or a wrong length is rejected, so old and new releases never misread
//! each other's tokens.

use std::time::Duration;

use waiting_room_core::{
    Pass, Ticket, Timestamp, VisitorId,
    room::{HeadStart, PassHome, WaitEstimate, event::Entrant},
};

/// The kind of proof in a token.
///
/// The kind is written unencrypted in front of the payload. The seal covers the kind, so a ticket
/// cannot be presented as a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The proof that a visitor was admitted.
    Pass,
    /// The proof of a place in line, or a first ticket, which gains a place when the visitor sends
    /// it back.
    Ticket,
    /// A ticket in a link, with which its visitor continues on another device.
    Transfer,
}

impl Kind {
    /// All kinds, in the order in which a sealer stores their associated data.
    pub(super) const ALL: [Self; 3] = [Self::Pass, Self::Ticket, Self::Transfer];

    /// Returns the byte that represents this kind in the header of a token.
    pub(super) const fn byte(self) -> u8 {
        match self {
            Self::Pass => 1,
            Self::Ticket => 2,
            Self::Transfer => 3,
        }
    }

    /// Returns the kind that a byte of the header represents, or `None` if the byte represents no
    /// kind.
    pub(super) fn from_byte(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.byte() == byte)
    }
}

/// Encodes a pass without its home. Decoding the result returns the same pass.
pub(super) fn encode_pass(pass: &Pass) -> [u8; PASS_LEN] {
    let mut bytes = [0; PASS_LEN];
    let mut writer = Writer(&mut bytes);
    writer.put(LAYOUT.to_le_bytes());
    writer.put(pass.id.bits().to_le_bytes());
    writer.put(pass.bucket.to_le_bytes());
    writer.put_time(pass.accepted_at);
    writer.put_time(pass.last_check_in);
    writer.put_time(pass.expires_at);
    bytes
}

/// Encodes a pass with a home. Decoding the result returns the same pass.
pub(super) fn encode_pass_of_site(pass: &Pass, home: PassHome) -> [u8; PASS_OF_SITE_LEN] {
    let mut bytes = [0; PASS_OF_SITE_LEN];
    let (front, rest) = bytes.split_at_mut(PASS_LEN);
    front.copy_from_slice(&encode_pass(pass));
    front[..4].copy_from_slice(&LAYOUT_OF_SITE.to_le_bytes());
    let mut writer = Writer(rest);
    writer.put(u32::from(home.site).to_le_bytes());
    writer.put(home.term.to_le_bytes());
    writer.put(home.count.to_le_bytes());
    bytes
}

/// Encodes a ticket with a number in a draw. Decoding the result returns the same ticket.
pub(super) fn encode_entrant(ticket: &Ticket, entrant: Entrant) -> [u8; LONG_TICKET_LEN] {
    let mut bytes = [0; LONG_TICKET_LEN];
    let (front, rest) = bytes.split_at_mut(TICKET_LEN);
    front.copy_from_slice(&encode_ticket(ticket));
    front[..4].copy_from_slice(&LAYOUT_OF_ENTRANT.to_le_bytes());
    let mut writer = Writer(rest);
    writer.put(entrant.draw.to_le_bytes());
    writer.put(entrant.number.to_le_bytes());
    writer.put(entrant.place.unwrap_or(NO_PLACE).to_le_bytes());
    writer.put(entrant.entrants.unwrap_or(NOT_DRAWN).to_le_bytes());
    bytes
}

/// Encodes the ticket of a late place. Decoding the result returns the same ticket.
pub(super) fn encode_late(ticket: &Ticket) -> [u8; LONG_TICKET_LEN] {
    let mut bytes = [0; LONG_TICKET_LEN];
    let (front, rest) = bytes.split_at_mut(TICKET_LEN);
    front.copy_from_slice(&encode_ticket(ticket));
    front[..4].copy_from_slice(&LAYOUT_OF_LATE.to_le_bytes());
    Writer(rest).put(ticket.late_by.to_le_bytes());
    bytes
}

/// Encodes a ticket without its number in a draw. Decoding the result returns the same ticket, since
/// a [`WaitEstimate`] contains only whole seconds.
pub(super) fn encode_ticket(ticket: &Ticket) -> [u8; TICKET_LEN] {
    let mut bytes = [0; TICKET_LEN];
    let mut writer = Writer(&mut bytes);
    writer.put(LAYOUT.to_le_bytes());
    writer.put(ticket.id.bits().to_le_bytes());
    writer.put_time(ticket.first_seen);
    writer.put_time(ticket.last_check_in);
    writer.put_time(ticket.next_check_in);
    writer.put(ticket.shown_position.unwrap_or(NO_POSITION).to_le_bytes());
    for wait in ticket.wait.map_or(NO_WAIT, |wait| [wait.p25, wait.p50, wait.p75].map(seconds)) {
        writer.put(wait.to_le_bytes());
    }
    let placed = if ticket.placed { PLACED } else { 0 };
    let approximate = if ticket.is_approximate { APPROXIMATE } else { 0 };
    // Zero represents a ticket without a promise, so a promise of 0 s is stored as 1.
    let promised = ticket
        .promised_wait
        .map_or(0, |wait| (seconds(wait.min(Ticket::MAX_PROMISED_WAIT)) + 1) << PROMISED_SHIFT);
    let head_start = u32::from(ticket.head_start.bits()) << HEAD_START_SHIFT;
    writer.put((placed | approximate | promised | head_start).to_le_bytes());
    bytes
}

/// Decodes a pass. The bytes must have been authenticated, since their values are not checked here.
///
/// # Errors
///
/// Returns [`OpenError::UnknownVersion`] if the layout number is unknown, and
/// [`OpenError::Malformed`] if the length is wrong.
pub(super) fn decode_pass(bytes: &[u8]) -> Result<Pass, OpenError> {
    if bytes.starts_with(&LAYOUT_OF_SITE.to_le_bytes()) {
        return decode_pass_of_site(bytes);
    }
    let mut reader = Reader(bytes);
    reader.begin(LAYOUT)?;
    let pass = reader.take_pass()?;
    reader.end()?;
    Ok(pass)
}

/// Decodes a pass with a home. Kept out of [`decode_pass`], so that a pass without a home has a
/// single length check and takes fewer instructions.
#[inline(never)]
fn decode_pass_of_site(bytes: &[u8]) -> Result<Pass, OpenError> {
    let mut reader = Reader(bytes);
    reader.begin(LAYOUT_OF_SITE)?;
    let pass = reader.take_pass()?;
    let home = reader.take_home()?;
    reader.end()?;
    Ok(pass.with_home(Some(home)))
}

/// Decodes a ticket. The bytes must have been authenticated, since their values are not checked
/// here.
///
/// # Errors
///
/// Returns [`OpenError::UnknownVersion`] if the layout number is unknown, and
/// [`OpenError::Malformed`] if the length is wrong.
pub(super) fn decode_ticket(bytes: &[u8]) -> Result<Ticket, OpenError> {
    let mut reader = Reader(bytes);
    let has_entrant = bytes.starts_with(&LAYOUT_OF_ENTRANT.to_le_bytes());
    let is_late = bytes.starts_with(&LAYOUT_OF_LATE.to_le_bytes());
    reader.begin(match (has_entrant, is_late) {
        (true, _) => LAYOUT_OF_ENTRANT,
        (false, true) => LAYOUT_OF_LATE,
        (false, false) => LAYOUT,
    })?;
    let id = reader.take_id()?;
    let first_seen = reader.take_time()?;
    let last_check_in = reader.take_time()?;
    let next_check_in = reader.take_time()?;
    let position = reader.take_u32()?;
    let wait = [reader.take_u32()?, reader.take_u32()?, reader.take_u32()?];
    let flags = reader.take_u32()?;
    let entrant = if has_entrant { Some(reader.take_entrant()?) } else { None };
    let late_by = if is_late { reader.take_late_by()? } else { 0 };
    reader.end()?;
    let promised = (flags & PROMISED) >> PROMISED_SHIFT;
    let head_start = u16::try_from(flags >> HEAD_START_SHIFT).map_err(|_| OpenError::Malformed)?;
    let mut ticket = Ticket::new(id, first_seen, last_check_in, next_check_in);
    ticket.shown_position = (position != NO_POSITION).then_some(position);
    ticket.wait = (wait != NO_WAIT).then(|| {
        let [p25, p50, p75] = wait.map(|secs| Duration::from_secs(secs.into()));
        WaitEstimate::new(p25, p50, p75)
    });
    ticket.head_start = HeadStart::from_bits(head_start);
    ticket.placed = flags & PLACED != 0;
    ticket.is_approximate = flags & APPROXIMATE != 0;
    ticket.promised_wait = promised.checked_sub(1).map(|wait| Duration::from_secs(wait.into()));
    ticket.entrant = entrant;
    ticket.late_by = late_by;
    Ok(ticket)
}

/// Writes words to a buffer, starting at the front. The words of a layout fill the buffer exactly.
struct Writer<'a>(&'a mut [u8]);

impl Writer<'_> {
    fn put<const N: usize>(&mut self, word: [u8; N]) {
        let rest = std::mem::take(&mut self.0);
        let (front, rest) = rest.split_at_mut(N);
        front.copy_from_slice(&word);
        self.0 = rest;
    }

    fn put_time(&mut self, time: Timestamp) {
        self.put(time.as_nanos().to_le_bytes());
    }
}

/// Reads words from a payload, starting at the front.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    /// Checks the layout number.
    fn begin(&mut self, layout: u32) -> Result<(), OpenError> {
        if self.take_u32()? == layout { Ok(()) } else { Err(OpenError::UnknownVersion) }
    }

    #[inline]
    fn take<const N: usize>(&mut self) -> Result<[u8; N], OpenError> {
        let (word, rest) = self.0.split_first_chunk().ok_or(OpenError::Malformed)?;
        self.0 = rest;
        Ok(*word)
    }

    #[inline]
    fn take_u32(&mut self) -> Result<u32, OpenError> {
        self.take().map(u32::from_le_bytes)
    }

    fn take_time(&mut self) -> Result<Timestamp, OpenError> {
        self.take().map(u64::from_le_bytes).map(Timestamp::from_nanos)
    }

    fn take_id(&mut self) -> Result<VisitorId, OpenError> {
        self.take().map(u128::from_le_bytes).map(VisitorId::new)
    }

    /// Reads the fields that each pass has.
    fn take_pass(&mut self) -> Result<Pass, OpenError> {
        let id = self.take_id()?;
        let bucket = self.take_u32()?;
        let accepted_at = self.take_time()?;
        let last_check_in = self.take_time()?;
        let expires_at = self.take_time()?;
        Ok(Pass::new(id, bucket, accepted_at, last_check_in, expires_at))
    }

    fn take_home(&mut self) -> Result<PassHome, OpenError> {
        let site = self.take_u32()?;
        let term = self.take_u32()?;
        let count = self.take_u32()?;
        let zeros = self.take_u32()?;
        match (u16::try_from(site), zeros) {
            (Ok(site), 0) => Ok(PassHome::new(site, term, count)),
            _ => Err(OpenError::Malformed),
        }
    }

    fn take_late_by(&mut self) -> Result<u32, OpenError> {
        let late_by = self.take_u32()?;
        if self.take::<12>()? == [0; 12] { Ok(late_by) } else { Err(OpenError::Malformed) }
    }

    fn take_entrant(&mut self) -> Result<Entrant, OpenError> {
        let draw = self.take_u32()?;
        let number = self.take_u32()?;
        let place = self.take_u32()?;
        let entrants = self.take_u32()?;
        let mut entrant = Entrant::new(number, draw);
        entrant.place = (place != NO_PLACE).then_some(place);
        entrant.entrants = (entrants != NOT_DRAWN).then_some(entrants);
        Ok(entrant)
    }

    /// Checks that no unread bytes are left.
    fn end(self) -> Result<(), OpenError> {
        if self.0.is_empty() { Ok(()) } else { Err(OpenError::Malformed) }
    }
}

/// Returns a wait in whole seconds.
///
/// A wait is at most [`WaitEstimate::MAX`], so it is never confused with the `u32::MAX` of an
/// unknown wait.
fn seconds(wait: Duration) -> u32 {
    u32::try_from(wait.as_secs()).unwrap_or(u32::MAX)
}

/// The length of an encoded pass without a home, in bytes.
pub(super) const PASS_LEN: usize = 48;
/// The length of an encoded pass with a home, in bytes.
const PASS_OF_SITE_LEN: usize = 64;
/// The length of an encoded ticket that has no number in a draw and is not late, in bytes.
pub(super) const TICKET_LEN: usize = 64;
/// The length of any other encoded ticket, in bytes.
const LONG_TICKET_LEN: usize = 80;

/// The layout number of passes without a home, and of tickets without a draw number.
const LAYOUT: u32 = 1;
/// The layout number of tickets that carry a draw number.
const LAYOUT_OF_ENTRANT: u32 = 2;
/// The layout number of passes with a home.
const LAYOUT_OF_SITE: u32 = 3;
/// The layout number of tickets of late places.
const LAYOUT_OF_LATE: u32 = 4;
/// The encoded place of an entrant before the draw. The first place is 1.
const NO_PLACE: u32 = 0;
/// The encoded number of entrants before the draw.
const NOT_DRAWN: u32 = u32::MAX;
/// The encoded position of a ticket that shows no position. The first position in the line is 1.
const NO_POSITION: u32 = 0;
/// The encoded waits of a ticket whose expected wait is unknown.
const NO_WAIT: [u32; 3] = [u32::MAX; 3];
/// The flag of a ticket that has a place in line.
const PLACED: u32 = 1;
/// The flag of a ticket that shows an approximate position.
const APPROXIMATE: u32 = 2;
/// The bits of the flags that contain the promised wait in seconds plus 1, or 0 without a promise.
const PROMISED: u32 = ((1 << 17) - 1) << PROMISED_SHIFT;
/// The position of the lowest bit of the promised wait.
const PROMISED_SHIFT: u32 = 2;
/// The position of the lowest bit of the head start, which occupies this bit and all higher bits.
const HEAD_START_SHIFT: u32 = 32 - HeadStart::BITS;

/// The reason why a token was not accepted. The reason is reported in metrics and spans, and never
/// to the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpenError {
    /// The token was valid, but has expired or exceeds the maximum age of a token.
    Expired,
    /// The seal does not match, because the token was changed or was sealed for a different room,
    /// kind or key.
    Forged,
    /// The token is so far ahead of the clock that the difference cannot be explained even by a
    /// clock that was set back.
    FromTheFuture,
    /// The string is not a token: it is too long, is not base64url, or does not have the documented
    /// form.
    Malformed,
    /// The token names a key that is not on the ring.
    UnknownKey,
    /// The version of the token or the layout of its payload is unknown to this release.
    UnknownVersion,
}

impl OpenError {
    /// Returns the stable name of the error, used as a label value in metrics.
    #[must_use]
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Expired => "expired",
            Self::Forged => "forged",
            Self::FromTheFuture => "from_the_future",
            Self::Malformed => "malformed",
            Self::UnknownKey => "unknown_key",
            Self::UnknownVersion => "unknown_version",
        }
    }
}

#[cfg(test)]
mod tests;
