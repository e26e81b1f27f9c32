//! The stand-in for a draw without the `lottery` feature. It never has a value, because a schedule
//! with a draw is refused.

use crate::{
    Timestamp,
    room::{
        event::{Commitment, Entrant},
        orders::Rank,
    },
};

/// A draw that never exists.
#[derive(Clone, Debug)]
pub(in crate::room) enum Drawing {}

impl Drawing {
    pub(in crate::room) fn is_of(&self, _commitment: Commitment) -> bool {
        match *self {}
    }

    pub(in crate::room) fn tag(&self) -> u32 {
        match *self {}
    }

    pub(in crate::room) fn assign(&mut self, _now: Timestamp) -> Option<u32> {
        match *self {}
    }

    pub(in crate::room) fn recognize(&mut self, _entrant: Entrant) {
        match *self {}
    }

    pub(in crate::room) fn advance(&mut self, _now: Timestamp) {
        match *self {}
    }

    pub(in crate::room) fn depart(&mut self, _number: u32) {
        match *self {}
    }

    pub(in crate::room) fn place_of(&self, _number: u32) -> Option<u32> {
        match *self {}
    }

    pub(in crate::room) fn places_of(&self, _numbers: &[u32]) -> Vec<Option<u32>> {
        match *self {}
    }

    pub(in crate::room) fn entrants(&self) -> Option<u32> {
        match *self {}
    }

    pub(in crate::room) fn numbered(&self) -> u32 {
        match *self {}
    }

    pub(in crate::room) fn is_recovering(&self) -> bool {
        match *self {}
    }

    pub(in crate::room) fn to_move(&self) -> Option<(Rank, Timestamp)> {
        match *self {}
    }

    pub(in crate::room) fn moved(&mut self, _next: Option<Rank>, _now: Timestamp) {
        match *self {}
    }

    pub(in crate::room) fn unsettled_since(&self, _now: Timestamp) -> Option<Timestamp> {
        match *self {}
    }

    pub(in crate::room) fn returns(&mut self, _number: u32, _place: Option<u32>) {
        match *self {}
    }

    pub(in crate::room) fn recall(&mut self, _number: u32, _place: u32, _position: u32) {
        match *self {}
    }

    pub(in crate::room) fn least_ahead(&mut self, _number: u32, _place: u32) -> u32 {
        match *self {}
    }
}
