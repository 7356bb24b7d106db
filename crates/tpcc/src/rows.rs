//! Rows of the nine tables. Money is in cents, rates are in parts of 10,000, dates are in milliseconds since 1970.

use serde::{Deserialize, Serialize};

/// What a warehouse and a district have in common.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Site {
    /// W_NAME, D_NAME.
    pub name: String,
    /// STREET_1, STREET_2, CITY, STATE, ZIP.
    pub address: Address,
    /// W_TAX, D_TAX, in parts of 10,000.
    pub tax: u16,
}

/// An address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Address {
    /// STREET_1.
    pub street_1: String,
    /// STREET_2.
    pub street_2: String,
    /// CITY.
    pub city: String,
    /// STATE.
    pub state: String,
    /// ZIP.
    pub zip: String,
}

/// WAREHOUSE.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warehouse {
    /// Name, address, tax.
    pub site: Site,
    /// W_YTD, in cents.
    pub ytd: i64,
}

/// DISTRICT.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct District {
    /// Name, address, tax.
    pub site: Site,
    /// D_YTD, in cents.
    pub ytd: i64,
    /// D_NEXT_O_ID.
    pub next_order: u32,
}

/// What never changes of a customer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CustomerInfo {
    /// C_FIRST.
    pub first: String,
    /// C_MIDDLE.
    pub middle: String,
    /// C_LAST.
    pub last: String,
    /// The address.
    pub address: Address,
    /// C_PHONE.
    pub phone: String,
    /// C_SINCE.
    pub since_ms: i64,
    /// C_CREDIT: whether it is good (`GC`, not `BC`).
    pub is_good: bool,
    /// C_CREDIT_LIM, in cents.
    pub credit_limit: i64,
    /// C_DISCOUNT, in parts of 10,000.
    pub discount: u16,
}

/// What payments and deliveries change of a customer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// C_BALANCE, in cents.
    pub balance: i64,
    /// C_YTD_PAYMENT, in cents.
    pub ytd_payment: i64,
    /// C_PAYMENT_CNT.
    pub payments: u32,
    /// C_DELIVERY_CNT.
    pub deliveries: u32,
}

/// CUSTOMER.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Customer {
    /// What never changes.
    pub info: CustomerInfo,
    /// What payments and deliveries change.
    pub account: Account,
    /// C_DATA.
    pub data: String,
}

/// What never changes of the stock of an item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StockInfo {
    /// S_DIST_01 to S_DIST_10.
    pub districts: Vec<String>,
    /// S_DATA.
    pub data: String,
}

/// What orders change of the stock of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quantity {
    /// S_QUANTITY.
    pub quantity: i32,
    /// S_YTD.
    pub ytd: u32,
    /// S_ORDER_CNT.
    pub orders: u32,
    /// S_REMOTE_CNT.
    pub remote: u32,
}

/// STOCK.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stock {
    /// What never changes.
    pub info: StockInfo,
    /// What orders change.
    pub quantity: Quantity,
}

/// ITEM.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// I_IM_ID.
    pub image: u32,
    /// I_NAME.
    pub name: String,
    /// I_PRICE, in cents.
    pub price: i64,
    /// I_DATA.
    pub data: String,
}

/// ORDER.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// O_C_ID.
    pub customer: u32,
    /// O_ENTRY_D.
    pub entry_ms: i64,
    /// O_CARRIER_ID.
    pub carrier: Option<u8>,
    /// O_OL_CNT.
    pub lines: u8,
    /// O_ALL_LOCAL.
    pub is_local: bool,
}

/// ORDER-LINE.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// OL_I_ID.
    pub item: u32,
    /// OL_SUPPLY_W_ID.
    pub supplier: u32,
    /// OL_DELIVERY_D.
    pub delivery_ms: Option<i64>,
    /// OL_QUANTITY.
    pub quantity: u8,
    /// OL_AMOUNT, in cents.
    pub amount: i64,
    /// OL_DIST_INFO.
    pub info: String,
}

/// Which customer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CustomerId {
    /// C_W_ID.
    pub warehouse: u32,
    /// C_D_ID.
    pub district: u8,
    /// C_ID.
    pub number: u32,
}

/// HISTORY.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Payment {
    /// H_C_W_ID, H_C_D_ID, H_C_ID.
    pub customer: CustomerId,
    /// H_DATE.
    pub date_ms: i64,
    /// H_AMOUNT, in cents.
    pub amount: i64,
    /// H_DATA.
    pub data: String,
}

/// Tells rows of HISTORY apart, which have no key of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PaymentId {
    /// Of the run.
    pub run: u64,
    /// Of the payment in it.
    pub number: u64,
}

/// A row of a warehouse, as it is loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Row {
    /// By I_ID.
    Item(u32, Item),
    /// The warehouse itself.
    Warehouse(Warehouse),
    /// By S_I_ID.
    Stock(u32, Stock),
    /// By D_ID.
    District(u8, District),
    /// By D_ID, C_ID.
    Customer(u8, u32, Customer),
    /// C_IDs of a last name in a district in the order of first names.
    Names(u8, String, Vec<u32>),
    /// By D_ID of the payment.
    Payment(u8, PaymentId, Payment),
    /// By D_ID, O_ID.
    Order(u8, u32, Order),
    /// By D_ID, O_ID, OL_NUMBER.
    Line(u8, u32, u8, Line),
    /// NEW-ORDER, by D_ID, O_ID.
    NewOrder(u8, u32),
}
