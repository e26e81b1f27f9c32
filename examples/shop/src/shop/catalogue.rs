//! What is for sale.

use serde::Serialize;

/// One product.
#[derive(Debug, Serialize)]
pub(super) struct Product {
    pub(super) id: &'static str,
    pub(super) name: &'static str,
    pub(super) picture: &'static str,
    pub(super) text: &'static str,
    pub(super) price_cents: u32,
}

impl Product {
    /// The product with this id.
    pub(super) fn find(id: &str) -> Option<&'static Self> {
        CATALOGUE.iter().find(|product| product.id == id)
    }
}

/// An amount as it is shown.
pub(super) fn price(cents: u32) -> String {
    format!("€ {}.{:02}", cents / 100, cents % 100)
}

/// All products.
pub(super) const CATALOGUE: [Product; 4] = [
    Product {
        id: "kettle",
        name: "Slow kettle",
        picture: "🫖",
        text: "Boils when it is ready. Whistles two notes, a minor third apart.",
        price_cents: 6_900,
    },
    Product {
        id: "lamp",
        name: "Reading lamp",
        picture: "💡",
        text: "Warm light, and an arm that stays where it is put.",
        price_cents: 8_450,
    },
    Product {
        id: "chair",
        name: "Waiting chair",
        picture: "🪑",
        text: "Ash and wool. The most comfortable way to stand in line.",
        price_cents: 24_900,
    },
    Product {
        id: "radio",
        name: "Kitchen radio",
        picture: "📻",
        text: "One knob for the volume, one for the station, and that is all.",
        price_cents: 5_200,
    },
];
