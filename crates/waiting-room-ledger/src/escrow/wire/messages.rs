//! The encoding of each message.

use waiting_room_core::VisitorId;

use crate::{
    SiteId,
    escrow::{
        Death, Epoch, EscrowRules, Grant, Heartbeat, Incarnation, Join, Refusal, Refused,
        RulesDigest, SitePass, Term, ToGlobal, ToSite, Welcome,
        front::{read_front, write_front},
        wire::{
            bytes::{Reader, WireError, Writer},
            tally::{
                MAX_WORLD_LEN, read_tally, read_tickets, read_world, write_tally, write_tickets,
                write_world,
            },
        },
    },
};

/// The version of the encoding, which is the first byte of each message.
///
/// Version 1 had no [fronts](crate::escrow::LineFront).
pub const WIRE_VERSION: u8 = 2;

/// The greatest count in a message: 2⁴⁰, about 10¹². A site that is granted a thousand slots a
/// second reaches it after 34 years in one epoch.
pub const MAX_COUNT: u64 = 1 << 40;

/// The maximum length, in bytes, of an encoded message other than a
/// [`World`](crate::escrow::World).
pub const MAX_MESSAGE_LEN: usize = 384;

impl ToGlobal {
    /// The message as bytes, at most [`MAX_MESSAGE_LEN`] of them.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        writer.byte(WIRE_VERSION);
        match self {
            Self::Heartbeat(heartbeat) => write_heartbeat(writer.byte(HEARTBEAT), heartbeat),
            Self::Join(join) => {
                writer.byte(JOIN).count(join.site.number().into()).bits(join.incarnation.bits());
                write_epoch(&mut writer, join.after);
                writer.time(join.sent_at).bits(join.rules.bits());
            }
            Self::Claim { heartbeat, pass, death } => {
                write_heartbeat(writer.byte(CLAIM), heartbeat);
                writer.wide_bits(pass.visitor.bits()).count(pass.home.number().into());
                write_epoch(&mut writer, pass.epoch);
                writer.time(pass.expires_at).flag(death.is_some());
                if let Some(death) = death {
                    write_death(&mut writer, death);
                }
            }
            Self::Tally(tally) => write_tally(writer.byte(TALLY), tally),
        }
        writer.into_bytes()
    }

    /// Reads a message from bytes that a peer has sent.
    ///
    /// # Errors
    ///
    /// Returns an error if the bytes are not exactly one message of this version.
    pub fn decode(bytes: &[u8]) -> Result<Self, WireError> {
        let (kind, mut reader) = begin(bytes)?;
        let message = match kind {
            HEARTBEAT => Self::Heartbeat(read_heartbeat(&mut reader)?),
            JOIN => Self::Join(Join {
                site: read_site(&mut reader)?,
                incarnation: Incarnation::new(reader.bits()?),
                after: read_epoch(&mut reader)?,
                sent_at: reader.time()?,
                rules: RulesDigest::new(reader.bits()?),
            }),
            CLAIM => Self::Claim {
                heartbeat: read_heartbeat(&mut reader)?,
                pass: SitePass {
                    visitor: VisitorId::new(reader.wide_bits()?),
                    home: read_site(&mut reader)?,
                    epoch: read_epoch(&mut reader)?,
                    expires_at: reader.time()?,
                },
                death: if reader.flag("death")? { Some(read_death(&mut reader)?) } else { None },
            },
            TALLY => Self::Tally(read_tally(&mut reader)?),
            _ => return Err(WireError::Value { field: "kind" }),
        };
        reader.end()?;
        Ok(message)
    }
}

impl ToSite {
    /// The message as bytes: at most [`MAX_WORLD_LEN`] of them for a snapshot of the world, and
    /// [`MAX_MESSAGE_LEN`] otherwise.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        writer.byte(WIRE_VERSION);
        match self {
            Self::Dead { term, death } => {
                writer.byte(DEAD).count(term.number().into());
                write_death(&mut writer, death);
            }
            Self::Grant(grant) => {
                writer.byte(GRANT).count(grant.term.number().into());
                write_epoch(&mut writer, grant.epoch);
                writer.time(grant.heard).duration(grant.lease);
                writer.count(grant.granted.min(MAX_COUNT)).count(grant.reserve.min(MAX_COUNT));
                writer.flag(grant.recall);
            }
            Self::Refused(refused) => {
                writer.byte(REFUSED).count(refused.term.number().into());
                writer.bits(refused.incarnation.bits());
                write_epoch(&mut writer, refused.over);
                write_refusal(&mut writer, &refused.reason);
            }
            Self::Report { term } => {
                writer.byte(REPORT).count(term.number().into());
            }
            Self::Stale { term, over, current } => {
                writer.byte(STALE).count(term.number().into());
                write_epoch(&mut writer, *over);
                write_epoch(&mut writer, *current);
            }
            Self::Tickets(tickets) => write_tickets(writer.byte(TICKETS), tickets),
            Self::Welcome(welcome) => {
                writer.byte(WELCOME).count(welcome.term.number().into());
                write_epoch(&mut writer, welcome.epoch);
                writer.bits(welcome.incarnation.bits()).time(welcome.heard);
                writer.duration(welcome.lease).count(welcome.inherited.min(MAX_COUNT));
            }
            Self::World(world) => write_world(writer.byte(WORLD), world),
        }
        writer.into_bytes()
    }

    /// Reads a message from bytes that a peer has sent.
    ///
    /// # Errors
    ///
    /// Returns an error if the bytes are not exactly one message of this version.
    pub fn decode(bytes: &[u8]) -> Result<Self, WireError> {
        let (kind, mut reader) = begin(bytes)?;
        let reader = &mut reader;
        let term = read_term(reader)?;
        let message = match kind {
            DEAD => Self::Dead { term, death: read_death(reader)? },
            GRANT => Self::Grant(Grant {
                term,
                epoch: read_epoch(reader)?,
                heard: reader.time()?,
                lease: reader.duration()?,
                granted: reader.count("granted", MAX_COUNT)?,
                reserve: reader.count("reserve", MAX_COUNT)?,
                recall: reader.flag("recall")?,
            }),
            REFUSED => Self::Refused(Refused {
                term,
                incarnation: Incarnation::new(reader.bits()?),
                over: read_epoch(reader)?,
                reason: read_refusal(reader)?,
            }),
            REPORT => Self::Report { term },
            STALE => Self::Stale { term, over: read_epoch(reader)?, current: read_epoch(reader)? },
            TICKETS => Self::Tickets(read_tickets(term, reader)?),
            WELCOME => Self::Welcome(Welcome {
                term,
                epoch: read_epoch(reader)?,
                incarnation: Incarnation::new(reader.bits()?),
                heard: reader.time()?,
                lease: reader.duration()?,
                inherited: reader.count("inherited", MAX_COUNT)?,
            }),
            WORLD => Self::World(read_world(term, reader)?),
            _ => return Err(WireError::Value { field: "kind" }),
        };
        reader.end()?;
        Ok(message)
    }
}

/// Checks the version, and returns the kind of the message and the rest of it.
fn begin(bytes: &[u8]) -> Result<(u8, Reader<'_>), WireError> {
    let most = if bytes.get(1) == Some(&WORLD) { MAX_WORLD_LEN } else { MAX_MESSAGE_LEN };
    if bytes.len() > most {
        return Err(WireError::Longer);
    }
    let mut reader = Reader::new(bytes);
    let given = reader.byte()?;
    if given != WIRE_VERSION {
        return Err(WireError::Version { given, expected: WIRE_VERSION });
    }
    Ok((reader.byte()?, reader))
}

fn write_heartbeat(writer: &mut Writer, heartbeat: &Heartbeat) {
    writer.count(heartbeat.site.number().into()).bits(heartbeat.incarnation.bits());
    writer.count(heartbeat.term.number().into());
    write_epoch(writer, heartbeat.epoch);
    writer.time(heartbeat.sent_at).time(heartbeat.lease_end).bits(heartbeat.rules.bits());
    for count in
        [heartbeat.granted, heartbeat.returned, heartbeat.used, heartbeat.want, heartbeat.demand]
    {
        // A larger count is possible only if a peer has lied; the reader checks the bound again.
        writer.count(count.min(MAX_COUNT));
    }
    write_front(writer, &heartbeat.front);
}

fn read_heartbeat(reader: &mut Reader<'_>) -> Result<Heartbeat, WireError> {
    Ok(Heartbeat {
        site: read_site(reader)?,
        incarnation: Incarnation::new(reader.bits()?),
        term: read_term(reader)?,
        epoch: read_epoch(reader)?,
        sent_at: reader.time()?,
        lease_end: reader.time()?,
        rules: RulesDigest::new(reader.bits()?),
        granted: reader.count("granted", MAX_COUNT)?,
        returned: reader.count("returned", MAX_COUNT)?,
        used: reader.count("used", MAX_COUNT)?,
        want: reader.count("want", MAX_COUNT)?,
        demand: reader.count("demand", MAX_COUNT)?,
        front: read_front(reader)?,
    })
}

fn write_death(writer: &mut Writer, death: &Death) {
    writer.count(death.site.number().into());
    write_epoch(writer, death.epoch);
    writer.time(death.heard);
}

fn read_death(reader: &mut Reader<'_>) -> Result<Death, WireError> {
    Ok(Death { site: read_site(reader)?, epoch: read_epoch(reader)?, heard: reader.time()? })
}

fn write_refusal(writer: &mut Writer, refusal: &Refusal) {
    match refusal {
        Refusal::Drained => writer.byte(0),
        Refusal::Fenced => writer.byte(1),
        Refusal::NotListed => writer.byte(2),
        Refusal::Policy => writer.byte(4),
        Refusal::Rules { rules, digest } => {
            writer.byte(3);
            for (_, time) in rules.times() {
                writer.duration(time);
            }
            writer.bits(digest.bits())
        }
        Refusal::TermTooHigh { given, most } => {
            writer.byte(5).count(given.number().into()).count(most.number().into())
        }
    };
}

fn read_refusal(reader: &mut Reader<'_>) -> Result<Refusal, WireError> {
    Ok(match reader.byte()? {
        0 => Refusal::Drained,
        1 => Refusal::Fenced,
        2 => Refusal::NotListed,
        3 => Refusal::Rules {
            // In the order of `EscrowRules::times`.
            rules: EscrowRules::new()
                .session(reader.duration()?)
                .lease(reader.duration()?)
                .drift_margin(reader.duration()?)
                .heartbeat(reader.duration()?)
                .borrow_wait(reader.duration()?),
            digest: RulesDigest::new(reader.bits()?),
        },
        4 => Refusal::Policy,
        5 => Refusal::TermTooHigh { given: read_term(reader)?, most: read_term(reader)? },
        _ => return Err(WireError::Value { field: "reason" }),
    })
}

fn write_epoch(writer: &mut Writer, epoch: Epoch) {
    writer.count(epoch.term().number().into()).count(epoch.count().into());
}

fn read_epoch(reader: &mut Reader<'_>) -> Result<Epoch, WireError> {
    let term = read_term(reader)?;
    let count = reader.count("epoch", u32::MAX.into())?;
    u32::try_from(count)
        .map(|count| Epoch::new(term, count))
        .map_err(|_| WireError::Value { field: "epoch" })
}

fn read_term(reader: &mut Reader<'_>) -> Result<Term, WireError> {
    let number = reader.count("term", u32::MAX.into())?;
    u32::try_from(number).map(Term::new).map_err(|_| WireError::Value { field: "term" })
}

fn read_site(reader: &mut Reader<'_>) -> Result<SiteId, WireError> {
    let number = reader.count("site", u16::MAX.into())?;
    u16::try_from(number).map(SiteId::new).map_err(|_| WireError::Value { field: "site" })
}

// The kinds of messages. The two directions have different kinds, so that a message is invalid if
// it is sent back to its sender.
const HEARTBEAT: u8 = 1;
const JOIN: u8 = 2;
const CLAIM: u8 = 3;
const TALLY: u8 = 4;
const DEAD: u8 = 17;
const GRANT: u8 = 18;
const REFUSED: u8 = 19;
const REPORT: u8 = 20;
const STALE: u8 = 21;
const WELCOME: u8 = 22;
const TICKETS: u8 = 23;
const WORLD: u8 = 24;
