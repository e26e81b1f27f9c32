//! The seeds of a schedule's draws.

use crate::{
    ConfigError,
    error::ConfigErrorKind,
    room::event::{Event, Lottery, Schedule, Seed},
};

impl Schedule {
    /// Adds the secret seed of the draw of one event, for the room of this name.
    ///
    /// If the event has no commitment yet, it gets the commitment to this seed, so its prequeue is
    /// shuffled at the start. An event with a commitment needs its seed before a room can follow the
    /// schedule.
    ///
    /// ```
    /// use waiting_room_core::{Timestamp, room::event::{Event, Schedule, Seed}};
    ///
    /// let at = Timestamp::from_secs;
    /// let doors = Event::new("doors", at(3_600), at(7_200)).prequeue_start(at(1_800));
    /// let schedule = Schedule::new([doors])?.with_seed("shop", "doors", Seed::new([7; 32]))?;
    /// assert!(schedule.events()[0].shuffle_at_start.is_some());
    /// # Ok::<(), waiting_room_core::ConfigError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error if no event has this name, if the event has no prequeue, or if it has the
    /// commitment to another seed. The error contains the commitments, and never the seed.
    pub fn with_seed(mut self, room: &str, event: &str, seed: Seed) -> Result<Self, ConfigError> {
        let lottery = Lottery::new(room, event, seed)?;
        let given = lottery.commitment();
        let event = self.event_mut(event)?;
        match event.shuffle_at_start {
            Some(expected) if expected != given => return Err(mismatch(event, &lottery)),
            Some(_) => {}
            None => *event = event.clone().shuffle_at_start(given).validate()?,
        }
        self.lotteries.retain(|known| known.event() != lottery.event());
        self.lotteries.push(lottery);
        Ok(self)
    }

    /// Returns the draw of an event, if its seed is known.
    pub(in crate::room) fn lottery(&self, event: &Event) -> Option<&Lottery> {
        self.lotteries.iter().find(|lottery| lottery.event() == event.name)
    }

    /// Returns, for each known draw, the name of the event and the digits of the seed.
    #[cfg(feature = "serde")]
    pub(super) fn seeds(&self) -> Vec<(String, String)> {
        let lotteries = self.lotteries.iter();
        lotteries.map(|lottery| (lottery.event().to_owned(), lottery.seed().digits())).collect()
    }

    /// Checks that the seed of each draw is known, and that it is for the room of this name.
    pub(super) fn check_seeds(&self, room: &str) -> Result<(), ConfigError> {
        for event in self.events() {
            let Some(commitment) = event.shuffle_at_start else { continue };
            let Some(lottery) = self.lottery(event) else {
                return Err(ConfigError::new(
                    ConfigErrorKind::Missing,
                    "seed",
                    format_args!("missing for event {:?}", event.name),
                    format_args!("the seed with the commitment {commitment}"),
                ));
            };
            if lottery.room() != room {
                return Err(ConfigError::new(
                    ConfigErrorKind::Contradicts,
                    "seed",
                    format_args!("one for room {:?}", lottery.room()),
                    format_args!("one for room {room:?}"),
                ));
            }
            if lottery.commitment() != commitment {
                return Err(mismatch(event, lottery));
            }
        }
        Ok(())
    }

    /// Takes over the seeds of an earlier schedule for events that have the same commitments.
    pub(super) fn with_seeds_of(mut self, earlier: &Self) -> Self {
        for lottery in &earlier.lotteries {
            let is_same = |event: &&Event| event.shuffle_at_start == Some(lottery.commitment());
            let event = self.event(lottery.event()).filter(is_same);
            if event.is_some_and(|event| self.lottery(event).is_none()) {
                self.lotteries.push(lottery.clone());
            }
        }
        self
    }
}

/// Returns an error for a seed that does not belong to the commitment of its event.
fn mismatch(event: &Event, lottery: &Lottery) -> ConfigError {
    let expected =
        event.shuffle_at_start.map(|commitment| commitment.to_string()).unwrap_or_default();
    ConfigError::new(
        ConfigErrorKind::Contradicts,
        "seed",
        format_args!("one with the commitment {}", lottery.commitment()),
        format_args!("the seed with the commitment {expected}, of event {:?}", event.name),
    )
}
