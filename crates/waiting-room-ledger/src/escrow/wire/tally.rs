//! The encoding of the messages of sites that count.

use waiting_room_core::RoomRules;

use crate::{
    SiteId,
    escrow::{
        Draw, Incarnation, RulesDigest, Tally, Term, Tickets, World,
        wire::bytes::{Reader, WireError, Writer},
    },
    slots::Minute,
};

/// The maximum length of an encoded [`World`] in bytes: 16 KiB.
pub const MAX_WORLD_LEN: usize = 16 * 1024;

pub(super) fn write_tally(writer: &mut Writer, tally: &Tally) {
    writer.count(tally.site.number().into()).bits(tally.incarnation.bits());
    writer.count(tally.term.number().into()).time(tally.sent_at).bits(tally.rules.bits());
    writer.bits(tally.knows).count(tally.active.into());
    writer.count(tally.minute.number().into()).count(tally.admitted.into());
    let Draw { minute, total, slots, knows_world } = tally.draw;
    writer.count(minute.number().into()).count(total.into()).count(slots.into());
    writer.flag(knows_world);
}

pub(super) fn read_tally(reader: &mut Reader<'_>) -> Result<Tally, WireError> {
    Ok(Tally {
        site: SiteId::new(small(reader, "site")?),
        incarnation: Incarnation::new(reader.bits()?),
        term: Term::new(small(reader, "term")?),
        sent_at: reader.time()?,
        rules: RulesDigest::new(reader.bits()?),
        knows: reader.bits()?,
        active: small(reader, "active")?,
        minute: Minute::new(small(reader, "minute")?),
        admitted: small(reader, "admitted")?,
        draw: Draw {
            minute: Minute::new(small(reader, "minute")?),
            total: small(reader, "total")?,
            slots: small(reader, "slots")?,
            knows_world: reader.flag("knows_world")?,
        },
    })
}

pub(super) fn write_tickets(writer: &mut Writer, tickets: &Tickets) {
    writer.count(tickets.term.number().into()).bits(tickets.incarnation.bits());
    writer.count(tickets.minute.number().into()).count(tickets.total.into());
    writer.flag(tickets.is_dry);
}

/// Reads the tickets in a message whose term has been read.
pub(super) fn read_tickets(term: Term, reader: &mut Reader<'_>) -> Result<Tickets, WireError> {
    Ok(Tickets {
        term,
        incarnation: Incarnation::new(reader.bits()?),
        minute: Minute::new(small(reader, "minute")?),
        total: small(reader, "total")?,
        is_dry: reader.flag("is_dry")?,
    })
}

/// Writes each site as the difference from the one before, so that 2048 sites fit.
pub(super) fn write_world(writer: &mut Writer, world: &World) {
    writer.count(world.term.number().into()).bits(world.version).time(world.made_at);
    writer.count(world.limit.into()).count(world.active.into());
    let traffic = &world.traffic[..world.traffic.len().min(World::MAX_SITES)];
    writer.count(world.minute.number().into()).count(traffic.len() as u64);
    let mut next = 0;
    for (site, visitors) in traffic {
        let number = u32::from(site.number());
        writer.count(number.saturating_sub(next).into());
        writer.count((*visitors).clamp(1, RoomRules::MAX_USERS).into());
        next = number + 1;
    }
}

/// Reads the snapshot in a message whose term has been read.
pub(super) fn read_world(term: Term, reader: &mut Reader<'_>) -> Result<World, WireError> {
    let version = reader.bits()?;
    let made_at = reader.time()?;
    let limit = small(reader, "limit")?;
    let active = small(reader, "active")?;
    let minute = Minute::new(small(reader, "minute")?);
    let sites = reader.count("traffic", World::MAX_SITES as u64)?;
    let mut traffic = Vec::new();
    let mut next = 0_u64;
    for _ in 0..sites {
        let number = next + reader.count("site", u16::MAX.into())?;
        let site = u16::try_from(number).map_err(|_| WireError::Value { field: "site" })?;
        let visitors = reader.count("visitors", RoomRules::MAX_USERS.into())?;
        match u32::try_from(visitors) {
            Ok(visitors) if visitors > 0 => traffic.push((SiteId::new(site), visitors)),
            _ => return Err(WireError::Value { field: "visitors" }),
        }
        next = number + 1;
    }
    Ok(World { term, version, made_at, limit, active, minute, traffic })
}

/// A count that fits into a smaller integer.
fn small<T: TryFrom<u64>>(reader: &mut Reader<'_>, field: &'static str) -> Result<T, WireError> {
    let count = reader.count(field, u32::MAX.into())?;
    T::try_from(count).map_err(|_| WireError::Value { field })
}
