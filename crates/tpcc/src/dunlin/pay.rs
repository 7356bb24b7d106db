//! Payment: two rounds, three where the customer is named or of bad credit.

use bytes::Bytes;

use super::rows::pair;
use super::{Txn, row};
use crate::input::{PaymentInput, Who};
use crate::key::{Key, Table};
use crate::rows::{Account, CustomerId, CustomerInfo, Payment, Site};
use crate::target::{Done, Fault, middle, noted};

/// Enters a payment.
pub async fn payment(txn: &Txn, input: &PaymentInput) -> Result<Done, Fault> {
    let home = |table| Key::of(input.warehouse, table);
    let district = input.district;
    let (of_warehouse, of_district) = input.of;
    let customer = |table, number| {
        Key::of(of_warehouse, table)
            .small(of_district)
            .number(number)
    };
    let mut keys = vec![
        home(Table::WarehouseYtd),
        home(Table::DistrictYtd).small(district),
        home(Table::Warehouse),
        home(Table::District).small(district),
    ];
    match &input.who {
        Who::Number(number) => {
            keys.push(customer(Table::Customer, *number));
            keys.push(customer(Table::Account, *number));
        }
        Who::Last(last) => {
            let names = Key::of(of_warehouse, Table::Names).small(of_district);
            keys.push(names.text(last));
        }
    }
    let mut values = txn.get_locked(&keys).await?;
    let mut take = |index: usize| values.get_mut(index).and_then(Option::take);
    let ytd: i64 = row(take(0), &keys[0])?;
    let district_ytd: i64 = row(take(1), &keys[1])?;
    let warehouse: Site = row(take(2), &keys[2])?;
    let district_row: Site = row(take(3), &keys[3])?;
    let (number, info, account) = match &input.who {
        Who::Number(number) => (*number, take(4), take(5)),
        Who::Last(last) => {
            let numbers: Vec<u32> = row(take(4), &keys[4])?;
            let missing = || Fault::Failed(format!("no customer {last}"));
            let number = middle(&numbers).ok_or_else(missing)?;
            let [info, account] = both(
                txn,
                [Table::Customer, Table::Account].map(|t| customer(t, number)),
            )
            .await?;
            (number, info, account)
        }
    };
    let (info_key, account_key) = (
        customer(Table::Customer, number),
        customer(Table::Account, number),
    );
    let info: CustomerInfo = row(info, &info_key)?;
    let account: Account = row(account, &account_key)?;
    let account = Account {
        balance: account.balance - input.amount,
        ytd_payment: account.ytd_payment + input.amount,
        payments: account.payments + 1,
        ..account
    };
    if !info.is_good {
        let key = [customer(Table::CustomerData, number)];
        let data: String = row(txn.get(&key).await?.pop().flatten(), &key[0])?;
        let [key] = key;
        txn.put(pair(key, &noted(&data, input, number)))?;
    }
    txn.put(pair(keys[0].clone(), &(ytd + input.amount)))?;
    txn.put(pair(keys[1].clone(), &(district_ytd + input.amount)))?;
    txn.put(pair(account_key, &account))?;
    let key = home(Table::Payment).small(district);
    let key = key.large(input.id.run).large(input.id.number);
    txn.put(pair(
        key,
        &history(input, number, [&warehouse.name, &district_row.name]),
    ))?;
    txn.commit().await?;
    Ok(Done::Paid {
        customer: number,
        balance: account.balance,
    })
}

async fn both(txn: &Txn, keys: [Key; 2]) -> Result<[Option<Bytes>; 2], Fault> {
    let values = txn.get(&keys).await?;
    values
        .try_into()
        .map_err(|_| Fault::Failed("two keys have not two values".to_owned()))
}

/// The row of a payment in HISTORY.
pub fn history(input: &PaymentInput, number: u32, names: [&str; 2]) -> Payment {
    let (warehouse, district) = input.of;
    Payment {
        customer: CustomerId {
            warehouse,
            district,
            number,
        },
        date_ms: input.date_ms,
        amount: input.amount,
        data: names.join("    "),
    }
}
