//! How many rows there are.

use serde::{Deserialize, Serialize};

/// Districts of a warehouse.
pub const DISTRICTS: u8 = 10;

/// Lines of an order, at most.
pub const LINES: usize = 15;

/// Rows of one warehouse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scale {
    /// Items.
    pub items: u32,
    /// Customers of a district, each with an order.
    pub customers: u32,
}

impl Scale {
    /// As specified.
    pub const FULL: Scale = Scale {
        items: 100_000,
        customers: 3_000,
    };
    /// A tenth of it, for tests.
    pub const TENTH: Scale = Scale {
        items: 10_000,
        customers: 300,
    };

    /// Orders of a district that are delivered when it is loaded.
    pub fn delivered(self) -> u32 {
        self.customers / 10 * 7
    }

    /// D_YTD when it is loaded, in cents: a payment of each customer.
    pub fn district_ytd(self) -> i64 {
        i64::from(self.customers) * PAID
    }

    /// W_YTD when it is loaded, in cents.
    pub fn warehouse_ytd(self) -> i64 {
        self.district_ytd() * i64::from(DISTRICTS)
    }
}

/// What each customer has paid when it is loaded, in cents.
pub const PAID: i64 = 1_000;
