//! What a terminal enters for each transaction (clauses 2.4 to 2.8 of TPC-C 5.11).

use std::time::Duration;

use crate::random::{Constants, Random};
use crate::rows::PaymentId;
use crate::scale::{DISTRICTS, Scale};

/// Types of transactions, in the order of the specification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// An order of 5 to 15 lines.
    NewOrder,
    /// A payment of a customer.
    Payment,
    /// The last order of a customer.
    OrderStatus,
    /// The oldest new order of each district is delivered.
    Delivery,
    /// Items of the last 20 orders of which there are few.
    LowStock,
}

/// All types.
pub const KINDS: [Kind; 5] = [
    Kind::NewOrder,
    Kind::Payment,
    Kind::OrderStatus,
    Kind::Delivery,
    Kind::LowStock,
];

impl Kind {
    /// As the specification names it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::NewOrder => "NewOrder",
            Kind::Payment => "Payment",
            Kind::OrderStatus => "OrderStatus",
            Kind::Delivery => "Delivery",
            Kind::LowStock => "StockLevel",
        }
    }
}

/// The input of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// See [`Kind::NewOrder`].
    NewOrder(NewOrderInput),
    /// See [`Kind::Payment`].
    Payment(PaymentInput),
    /// See [`Kind::OrderStatus`].
    OrderStatus(OrderStatusInput),
    /// See [`Kind::Delivery`].
    Delivery(DeliveryInput),
    /// See [`Kind::LowStock`].
    LowStock(LowStockInput),
}

/// A line of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OrderedItem {
    /// The item; one that there is not has the order rolled back.
    pub item: u32,
    /// The warehouse that it comes from.
    pub supplier: u32,
    /// How many.
    pub quantity: u8,
}

/// An order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewOrderInput {
    /// The home warehouse.
    pub warehouse: u32,
    /// The district.
    pub district: u8,
    /// The customer.
    pub customer: u32,
    /// Its lines.
    pub lines: Vec<OrderedItem>,
    /// Now.
    pub date_ms: i64,
}

/// Which customer of a district.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Who {
    /// By number.
    Number(u32),
    /// By last name: the one in the middle, rounded up, in the order of first names.
    Last(String),
}

/// A payment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaymentInput {
    /// The home warehouse.
    pub warehouse: u32,
    /// The district.
    pub district: u8,
    /// Warehouse and district of the customer.
    pub of: (u32, u8),
    /// The customer.
    pub who: Who,
    /// In cents.
    pub amount: i64,
    /// Its row in HISTORY.
    pub id: PaymentId,
    /// Now.
    pub date_ms: i64,
}

/// A question for the last order of a customer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderStatusInput {
    /// The home warehouse.
    pub warehouse: u32,
    /// The district.
    pub district: u8,
    /// The customer.
    pub who: Who,
}

/// A delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeliveryInput {
    /// The home warehouse.
    pub warehouse: u32,
    /// The carrier.
    pub carrier: u8,
    /// Now.
    pub date_ms: i64,
}

/// A question for items of which there are few.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LowStockInput {
    /// The home warehouse.
    pub warehouse: u32,
    /// The district.
    pub district: u8,
    /// Fewer than this.
    pub threshold: i32,
}

/// Which transactions are done, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mix {
    /// As paper 003: 57 % NewOrder and 43 % Payment by number, all in the home warehouse.
    Paper,
    /// All five as specified.
    Full,
}

/// Cards of a deck of 100 in [`Mix::Full`], and chances in [`Mix::Paper`].
const FULL: [(Kind, u32); 5] = [
    (Kind::NewOrder, 45),
    (Kind::Payment, 43),
    (Kind::OrderStatus, 4),
    (Kind::Delivery, 4),
    (Kind::LowStock, 4),
];
const PAPER: [(Kind, u32); 2] = [(Kind::NewOrder, 57), (Kind::Payment, 43)];

impl Mix {
    /// Cards of a deck of 100.
    pub fn cards(self) -> &'static [(Kind, u32)] {
        match self {
            Mix::Paper => &PAPER,
            Mix::Full => &FULL,
        }
    }

    /// As the command line spells it.
    pub fn name(self) -> &'static str {
        match self {
            Mix::Paper => "paper",
            Mix::Full => "full",
        }
    }
}

/// What a terminal draws its input from.
#[derive(Debug)]
pub struct Draw {
    /// Which transactions.
    pub mix: Mix,
    /// Warehouses in all.
    pub warehouses: u32,
    /// Rows of each.
    pub scale: Scale,
    /// The warehouse of the terminal.
    pub home: u32,
    /// Its district, which it asks for stock.
    pub district: u8,
    /// Constants of the run.
    pub constants: Constants,
    /// The first half of the names of its payments.
    pub run: u64,
    random: Random,
    deck: Vec<Kind>,
    payments: u64,
}

impl Draw {
    /// Of one of several terminals: their homes are the warehouses in turn.
    pub fn new(
        mix: Mix,
        (warehouses, scale): (u32, Scale),
        constants: Constants,
        (run, seed, terminal): (u64, u64, u32),
    ) -> Draw {
        Draw {
            mix,
            warehouses,
            scale,
            home: terminal % warehouses + 1,
            district: (terminal / warehouses % u32::from(DISTRICTS)) as u8 + 1,
            constants,
            run,
            random: Random::of(seed, u64::from(terminal)),
            deck: Vec::new(),
            payments: u64::from(terminal) << 32,
        }
    }

    /// The next transaction.
    pub fn next(&mut self, date_ms: i64) -> Input {
        if self.deck.is_empty() {
            let cards = self.mix.cards().iter();
            let cards = cards.flat_map(|&(kind, count)| (0..count).map(move |_| kind));
            self.deck.extend(cards);
            self.random.shuffle(&mut self.deck);
        }
        match self.deck.pop() {
            Some(Kind::Payment) => Input::Payment(self.payment(date_ms)),
            Some(Kind::OrderStatus) => Input::OrderStatus(OrderStatusInput {
                warehouse: self.home,
                district: self.any_district(),
                who: self.who(),
            }),
            Some(Kind::Delivery) => Input::Delivery(DeliveryInput {
                warehouse: self.home,
                carrier: self.random.number(1, 10) as u8,
                date_ms,
            }),
            Some(Kind::LowStock) => Input::LowStock(LowStockInput {
                warehouse: self.home,
                district: self.district,
                threshold: self.random.number(10, 20) as i32,
            }),
            Some(Kind::NewOrder) | None => Input::NewOrder(self.new_order(date_ms)),
        }
    }

    /// A think time with this mean.
    pub fn think(&mut self, mean: Duration) -> Duration {
        self.random.think(mean)
    }

    fn any_district(&mut self) -> u8 {
        self.random.number(1, u32::from(DISTRICTS)) as u8
    }

    /// Another warehouse than the home.
    fn other(&mut self) -> u32 {
        match self.random.number(1, self.warehouses - 1) {
            below if below < self.home => below,
            above => above + 1,
        }
    }

    fn new_order(&mut self, date_ms: i64) -> NewOrderInput {
        let customer = self.random.customer(self.constants, self.scale.customers);
        let district = self.any_district();
        let is_full = self.mix == Mix::Full;
        let count = self.random.number(5, 15);
        let is_rolled_back = is_full && self.random.percent(1);
        let mut lines = Vec::new();
        for line in 1..=count {
            let is_unknown = is_rolled_back && line == count;
            let item = self.random.item(self.constants, self.scale.items);
            let is_remote = is_full && self.warehouses > 1 && self.random.percent(1);
            lines.push(OrderedItem {
                item: if is_unknown {
                    self.scale.items + 1
                } else {
                    item
                },
                supplier: if is_remote { self.other() } else { self.home },
                quantity: self.random.number(1, 10) as u8,
            });
        }
        NewOrderInput {
            warehouse: self.home,
            district,
            customer,
            lines,
            date_ms,
        }
    }

    fn payment(&mut self, date_ms: i64) -> PaymentInput {
        let district = self.any_district();
        let is_full = self.mix == Mix::Full;
        let is_remote = is_full && self.warehouses > 1 && self.random.percent(15);
        let of = if is_remote {
            (self.other(), self.any_district())
        } else {
            (self.home, district)
        };
        let who = if is_full {
            self.who()
        } else {
            Who::Number(self.random.customer(self.constants, self.scale.customers))
        };
        self.payments += 1;
        PaymentInput {
            warehouse: self.home,
            district,
            of,
            who,
            amount: self.random.cents(100, 500_000),
            id: PaymentId {
                run: self.run,
                number: self.payments,
            },
            date_ms,
        }
    }

    /// By last name in 60 of 100.
    fn who(&mut self) -> Who {
        if self.random.percent(60) {
            Who::Last(self.random.last_name(self.constants, self.scale.customers))
        } else {
            Who::Number(self.random.customer(self.constants, self.scale.customers))
        }
    }
}

impl Input {
    /// Its type.
    pub fn kind(&self) -> Kind {
        match self {
            Input::NewOrder(_) => Kind::NewOrder,
            Input::Payment(_) => Kind::Payment,
            Input::OrderStatus(_) => Kind::OrderStatus,
            Input::Delivery(_) => Kind::Delivery,
            Input::LowStock(_) => Kind::LowStock,
        }
    }
}

#[cfg(test)]
#[path = "input_tests.rs"]
mod tests;
