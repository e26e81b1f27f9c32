//! A site with a line: it asks for slots for visitors who are not at the door.

use waiting_room_core::Timestamp;

use crate::escrow::{LineFront, site::ledger::SiteLedger};

impl SiteLedger {
    /// Describes the line of the site: its oldest present visitors, those at the door included.
    ///
    /// The site then asks for slots for all of them, and not only for visitors at the door. A slot that is
    /// granted for them is kept for four seconds, until one of them comes to the door. While visitors wait
    /// elsewhere, visitors of this site take no other slots, because the next one may belong to an older
    /// visitor.
    ///
    /// The ledger of a site without a line is never told of one. Otherwise, its caller calls this before
    /// [`tick`](Self::tick) whenever the line has changed.
    pub fn set_line(&mut self, front: LineFront, now: Timestamp) {
        let is_new = self.line.front().is_empty() && !front.is_empty();
        self.line.tell(front);
        self.advance(now);
        if is_new {
            self.next_heartbeat = self.next_heartbeat.min(self.clock + self.rules.pause());
        }
    }

    /// The number of slots that visitors may take.
    pub(super) fn usable(&self) -> u64 {
        if !self.is_leased() {
            0
        } else if self.is_recalled() && !self.line.is_empty() {
            self.line.promised().min(self.unused())
        } else {
            self.unused()
        }
    }

    /// The slots that the site asks for, and the visitors in line for whom it does. The first ones in line
    /// take the slots that the site has.
    pub(super) fn wants(&mut self) -> (u64, LineFront) {
        let usable = self.usable();
        let (want, front) = if self.line.is_empty() {
            (self.borrowers.new_count(), self.borrowers.front())
        } else {
            let front = self.line.front().behind(usable);
            let left = usable.saturating_sub(self.line.front().visitors());
            (front.visitors() + self.borrowers.newcomers().saturating_sub(left), front)
        };
        self.line.asks(self.allowance.granted, want, usable);
        (want, front)
    }
}
