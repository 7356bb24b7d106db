//! Tables as Markdown, aligned so that they also read well as plain text.

use super::svg::escape;

/// Rows under a head.
#[derive(Debug, Clone)]
pub struct Table {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these columns.
    pub fn new(head: &[&str]) -> Table {
        Table {
            head: head.iter().map(|&text| text.to_owned()).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row; missing cells are empty.
    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// The table in Markdown: the first column to the left, the others to the right.
    pub fn render(&self) -> String {
        let cell = |row: &[String], column: usize| {
            row.get(column)
                .map_or(String::new(), |text| text.replace('|', "\\|"))
        };
        let widths: Vec<usize> = (0..self.head.len())
            .map(|column| {
                let all = self.rows.iter().chain([&self.head]);
                all.map(|row| cell(row, column).chars().count())
                    .max()
                    .unwrap_or(0)
                    .max(3)
            })
            .collect();
        let line = |row: &[String]| {
            let cells = widths.iter().enumerate().map(|(column, &width)| {
                let text = cell(row, column);
                if column == 0 {
                    format!("{text:<width$}")
                } else {
                    format!("{text:>width$}")
                }
            });
            format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
        };
        let rule = widths.iter().enumerate().map(|(column, &width)| {
            let dashes = "-".repeat(width - 1);
            if column == 0 {
                format!("{dashes}-")
            } else {
                format!("{dashes}:")
            }
        });
        let rule = format!("| {} |\n", rule.collect::<Vec<_>>().join(" | "));
        let body: String = self.rows.iter().map(|row| line(row)).collect();
        line(&self.head) + &rule + &body
    }

    /// The table in HTML.
    pub fn render_html(&self) -> String {
        let line = |row: &[String], tag: &str| {
            let cells = (0..self.head.len()).map(|column| {
                let text = row.get(column).map_or("", String::as_str);
                format!("<{tag}>{}</{tag}>", escape(text))
            });
            format!("<tr>{}</tr>\n", cells.collect::<String>())
        };
        let body: String = self.rows.iter().map(|row| line(row, "td")).collect();
        format!(
            "<table>\n<thead>\n{}</thead>\n<tbody>\n{body}</tbody>\n</table>\n",
            line(&self.head, "th")
        )
    }
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
