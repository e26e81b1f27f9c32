//! The policies of the article: the admissions of all nodes, and the counters of all sites.

use std::sync::Arc;

use waiting_room_core::ConfigError;
use waiting_room_ledger::{
    SiteId,
    model::{
        CounterRequest, NodeRules, Pool, SiteAdmission, SlotDecision, SlotPolicy, SlotRules,
        TicketCounter, WorldSnapshot,
    },
};

use super::question::{Asker, Say, Step};
use crate::sites::{
    clock::timestamp,
    crowd::Skew,
    scenario::{Policy, Scenario},
};

/// An admission at each node, and a counter for each pool. They are the code of production.
#[derive(Debug)]
pub(super) struct SlotDoor {
    sites: Vec<Site>,
    anywhere: TicketCounter,
    /// The questions under way, by visitor.
    asked: Vec<Option<Question>>,
}

/// A question of a node to a counter.
#[derive(Clone, Copy, Debug)]
struct Question {
    request: CounterRequest,
    node: u16,
    /// Whether the node gives up before the reply arrives.
    is_late: bool,
}

#[derive(Debug)]
struct Site {
    nodes: Vec<Node>,
    by_node: Skew,
    counter: TicketCounter,
}

#[derive(Debug)]
struct Node {
    admission: SiteAdmission,
    /// The version of the newest snapshot that the node has received.
    version: u64,
}

impl SlotDoor {
    pub(super) fn new(policy: Policy, scenario: &Scenario) -> Result<Self, ConfigError> {
        let rules = rules(policy, scenario);
        let site = |(index, nodes): (u16, &u16)| {
            let admission = || SiteAdmission::new(rules, SiteId::new(index));
            let nodes: Result<Vec<_>, _> =
                (0..*nodes).map(|_| Ok(Node { admission: admission()?, version: 0 })).collect();
            let nodes = nodes?;
            let by_node = Skew::zipf(nodes.len(), scenario.sites.node_skew);
            Ok(Site { nodes, by_node, counter: TicketCounter::new() })
        };
        let sites = (0..).zip(&scenario.sites.nodes).map(site).collect::<Result<_, _>>()?;
        Ok(Self { sites, anywhere: TicketCounter::new(), asked: Vec::new() })
    }

    /// A visitor arrives at a node, which is chosen by `place`, from 0 to 1.
    pub(super) fn arrive(
        &mut self,
        asker: &Asker,
        world: Option<&Arc<WorldSnapshot>>,
        place: f64,
    ) -> Step {
        let site = &mut self.sites[usize::from(asker.site)];
        let at = site.by_node.choose(place);
        let node = &mut site.nodes[at];
        node.observe(world);
        let ruling = node.admission.arrive(timestamp(asker.now));
        self.step(asker.who, ruling, u16::try_from(at).expect("a site has 1000 nodes at most"))
    }

    /// A visitor's question reaches its counter.
    pub(super) fn resume(&mut self, asker: &Asker, world: Option<&Arc<WorldSnapshot>>) -> Step {
        let Some(Question { request, node: at, is_late }) = self.asked[asker.who as usize].take()
        else {
            return Step::Say(Say::Queue);
        };
        let site = &mut self.sites[usize::from(asker.site)];
        let now = timestamp(asker.now);
        let node = &mut site.nodes[usize::from(at)];
        node.observe(world);
        let reply = match request.pool {
            Pool::Anywhere if !asker.is_connected => None,
            Pool::Anywhere => Some(self.anywhere.take(&request, now)),
            Pool::Site => Some(site.counter.take(&request, now)),
        };
        let ruling = match reply.filter(|_| !is_late) {
            Some(reply) => node.admission.on_reply(&request, reply, now),
            None => node.admission.on_timeout(&request, now),
        };
        self.step(asker.who, ruling, at)
    }

    /// Records that the node gives up before the reply arrives. The counter still hands out the
    /// slot.
    pub(super) fn lose_patience(&mut self, who: u32) {
        if let Some(question) = &mut self.asked[who as usize] {
            question.is_late = true;
        }
    }

    fn step(&mut self, who: u32, ruling: SlotDecision, node: u16) -> Step {
        match ruling {
            SlotDecision::Admit => Step::Say(Say::Admit),
            SlotDecision::Request(request) => {
                let who = who as usize;
                if who >= self.asked.len() {
                    self.asked.resize(who + 1, None);
                }
                self.asked[who] = Some(Question { request, node, is_late: false });
                if request.pool == Pool::Site { Step::Site } else { Step::Anywhere }
            }
            SlotDecision::Queue => Step::Say(Say::Queue),
        }
    }
}

impl Node {
    fn observe(&mut self, world: Option<&Arc<WorldSnapshot>>) {
        if let Some(world) = world
            && world.version() > self.version
        {
            self.version = world.version();
            self.admission.observe(Arc::clone(world));
        }
    }
}

/// The limits of the room, which all policies of the article have in common.
fn limits(scenario: &Scenario) -> SlotRules {
    SlotRules::new(scenario.limits.total_active_users)
        .new_users_per_minute(scenario.limits.new_users_per_minute)
        .any_floor(ANY_FLOOR)
}

fn rules(policy: Policy, scenario: &Scenario) -> NodeRules {
    let policy = match policy {
        Policy::Curve => SlotPolicy::Curve { curve_factor: scenario.curve_factor },
        Policy::Even => SlotPolicy::Even,
        Policy::Counters | Policy::Escrow | Policy::Ideal | Policy::IdealHolds => {
            SlotPolicy::Counters
        }
    };
    NodeRules::new(limits(scenario), policy)
}

/// The least share of the slots that belongs to no site.
const ANY_FLOOR: f64 = 0.02;
