//! All that transactions change, as it is at one moment.

use std::collections::{BTreeMap, BTreeSet};

use crate::rows::{Account, CustomerId, Line, Order, Payment, Quantity};
use crate::target::Fault;

/// A district of a warehouse.
pub type DistrictId = (u32, u8);
/// An order of a district.
pub type OrderId = (u32, u8, u32);

/// D_YTD and D_NEXT_O_ID.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DistrictState {
    /// D_YTD, in cents.
    pub ytd: i64,
    /// D_NEXT_O_ID.
    pub next_order: u32,
}

/// The rows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tables {
    /// W_YTD.
    pub warehouses: BTreeMap<u32, i64>,
    /// Districts.
    pub districts: BTreeMap<DistrictId, DistrictState>,
    /// Balances and counts of customers.
    pub accounts: BTreeMap<CustomerId, Account>,
    /// C_DATA.
    pub data: BTreeMap<CustomerId, String>,
    /// Quantities and counts of stock.
    pub quantities: BTreeMap<(u32, u32), Quantity>,
    /// Orders.
    pub orders: BTreeMap<OrderId, Order>,
    /// Orders that are not delivered.
    pub new_orders: BTreeSet<OrderId>,
    /// Lines of orders, by number.
    pub lines: BTreeMap<(OrderId, u8), Line>,
    /// Payments by the district that took them, in the order of their customers and dates.
    pub payments: Vec<(DistrictId, Payment)>,
}

/// A database whose rows can be read at one moment.
#[allow(async_fn_in_trait, reason = "all that uses it stays on one thread")]
pub trait Dump {
    /// All rows of so many warehouses, while nobody writes.
    async fn dump(&self, warehouses: u32) -> Result<Tables, Fault>;
}

impl Tables {
    /// Where they differ from others, table by table; empty where they do not.
    pub fn differences(&self, other: &Tables) -> Vec<String> {
        let same = [
            ("WAREHOUSE", self.warehouses == other.warehouses),
            ("DISTRICT", self.districts == other.districts),
            (
                "CUSTOMER",
                self.accounts == other.accounts && self.data == other.data,
            ),
            ("STOCK", self.quantities == other.quantities),
            ("ORDER", self.orders == other.orders),
            ("NEW-ORDER", self.new_orders == other.new_orders),
            ("ORDER-LINE", self.lines == other.lines),
            ("HISTORY", self.payments == other.payments),
        ];
        let differ = same.into_iter().filter(|(_, same)| !same);
        differ.map(|(name, _)| name.to_owned()).collect()
    }
}
