//! A chart as PNG.

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};

/// Pixels of the PNG for each unit of the SVG, for sharp text on dense screens.
const SCALE: f32 = 2.0;

/// Draws an SVG with the fonts of this machine; without any, labels are missing.
///
/// # Errors
/// What is wrong with the SVG.
pub fn render(svg: &str) -> Result<Vec<u8>, String> {
    let mut options = Options::default();
    options.fontdb_mut().load_system_fonts();
    let tree = Tree::from_str(svg, &options).map_err(|error| error.to_string())?;
    let size = tree
        .size()
        .to_int_size()
        .scale_by(SCALE)
        .ok_or("a chart without size")?;
    let mut pixmap = Pixmap::new(size.width(), size.height()).ok_or("a chart too large")?;
    resvg::render(
        &tree,
        Transform::from_scale(SCALE, SCALE),
        &mut pixmap.as_mut(),
    );
    pixmap.encode_png().map_err(|error| error.to_string())
}
