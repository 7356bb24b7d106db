//! Keys of rows in Dunlin: the warehouse as five digits, a letter for the table, and numbers that sort as they count. Rows are
//! cut so that columns written together are together, and those that never change are in no transaction's way.

/// A table, or a part of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Table {
    /// Name, address and tax of the warehouse.
    Warehouse,
    /// W_YTD.
    WarehouseYtd,
    /// Name, address and tax of a district.
    District,
    /// D_YTD.
    DistrictYtd,
    /// D_NEXT_O_ID.
    NextOrder,
    /// What never changes of a customer.
    Customer,
    /// Balance and counts.
    Account,
    /// C_DATA.
    CustomerData,
    /// Customers by last name.
    Names,
    /// The stock of an item.
    Stock,
    /// Items, a copy in each warehouse.
    Item,
    /// Orders.
    Order,
    /// Orders by customer, the newest first.
    Newest,
    /// Lines of orders.
    Line,
    /// Orders that are not delivered.
    NewOrder,
    /// Payments.
    Payment,
    /// The lock of deliveries, which has no value.
    Delivery,
    /// That the warehouse is loaded.
    Loaded,
}

impl Table {
    fn letter(self) -> u8 {
        match self {
            Table::Warehouse => b'w',
            Table::WarehouseYtd => b'W',
            Table::District => b'd',
            Table::DistrictYtd => b'D',
            Table::NextOrder => b'n',
            Table::Customer => b'c',
            Table::Account => b'C',
            Table::CustomerData => b'x',
            Table::Names => b'm',
            Table::Stock => b's',
            Table::Item => b'i',
            Table::Order => b'o',
            Table::Newest => b'p',
            Table::Line => b'l',
            Table::NewOrder => b'q',
            Table::Payment => b'h',
            Table::Delivery => b'y',
            Table::Loaded => b'z',
        }
    }
}

/// A key that is being made.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key(Vec<u8>);

impl Key {
    /// The only row of a table in a warehouse, or the prefix of all.
    pub fn of(warehouse: u32, table: Table) -> Key {
        let mut bytes = format!("{warehouse:05}").into_bytes();
        bytes.push(table.letter());
        Key(bytes)
    }

    /// With the number of a district, or of a line.
    pub fn small(mut self, number: u8) -> Key {
        self.0.push(number);
        self
    }

    /// With a number.
    pub fn number(mut self, number: u32) -> Key {
        self.0.extend(number.to_be_bytes());
        self
    }

    /// With a number of which the greatest comes first.
    pub fn downwards(self, number: u32) -> Key {
        self.number(!number)
    }

    /// With a large number.
    pub fn large(mut self, number: u64) -> Key {
        self.0.extend(number.to_be_bytes());
        self
    }

    /// With a text behind which nothing comes.
    pub fn text(mut self, text: &str) -> Key {
        self.0.extend(text.as_bytes());
        self
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The first key behind all that begin with this one.
    pub fn behind(mut self) -> Key {
        while let Some(last) = self.0.pop() {
            if last < u8::MAX {
                self.0.push(last + 1);
                break;
            }
        }
        self
    }
}

/// Reads the numbers of a key that was made by [`Key`].
#[derive(Debug)]
pub struct KeyReader<'a>(&'a [u8]);

impl<'a> KeyReader<'a> {
    /// Behind the prefix of a table in a warehouse.
    pub fn of(key: &'a [u8]) -> Option<KeyReader<'a>> {
        key.get(6..).map(KeyReader)
    }

    fn take<const LENGTH: usize>(&mut self) -> Option<[u8; LENGTH]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*taken)
    }

    /// The number of a district, or of a line.
    pub fn small(&mut self) -> Option<u8> {
        self.take().map(u8::from_be_bytes)
    }

    /// A number.
    pub fn number(&mut self) -> Option<u32> {
        self.take().map(u32::from_be_bytes)
    }

    /// A number of which the greatest comes first.
    pub fn downwards(&mut self) -> Option<u32> {
        self.number().map(|number| !number)
    }

    /// A large number.
    pub fn large(&mut self) -> Option<u64> {
        self.take().map(u64::from_be_bytes)
    }
}

#[cfg(test)]
#[path = "key_tests.rs"]
mod tests;
