//! The pictures, and their conversion.

use std::io::Cursor;

use image::{
    ImageFormat, ImageReader, ImageResult, Limits, RgbImage, codecs::jpeg::JpegEncoder,
    imageops::FilterType,
};

/// Returns the picture at half the size: decoded, scaled, sharpened and encoded again. It uses only
/// CPU time.
///
/// # Errors
///
/// The source is not a JPEG, or it is too large.
pub(crate) fn convert(source: &[u8]) -> ImageResult<Vec<u8>> {
    let mut reader = ImageReader::with_format(Cursor::new(source), ImageFormat::Jpeg);
    let mut limits = Limits::default();
    limits.max_image_width = Some(MAX_EDGE);
    limits.max_image_height = Some(MAX_EDGE);
    reader.limits(limits);
    let picture = reader.decode()?;
    let width = picture.width() / 2;
    let height = picture.height() / 2;
    let half = picture.resize_exact(width.max(1), height.max(1), FilterType::Lanczos3);
    encoded(&half.unsharpen(1.5, 2).into_rgb8())
}

/// A picture to convert. It is the same for every call with these dimensions.
///
/// # Errors
///
/// The picture cannot be encoded.
pub(crate) fn source(width: u32, height: u32) -> ImageResult<Vec<u8>> {
    encoded(&RgbImage::from_fn(width, height, |x, y| {
        let wave = |pace: u32| {
            let phase = (x * pace + y * (pace + 1)) % 512;
            u8::try_from(phase.min(511 - phase)).unwrap_or(u8::MAX)
        };
        image::Rgb([wave(1), wave(2), wave(3)])
    }))
}

fn encoded(picture: &RgbImage) -> ImageResult<Vec<u8>> {
    let mut encoded = Vec::new();
    picture.write_with_encoder(JpegEncoder::new_with_quality(&mut encoded, 80))?;
    Ok(encoded)
}

/// The maximum width and height in pixels. It bounds the memory of a picture.
const MAX_EDGE: u32 = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_comes_out_at_half_the_size_and_always_the_same() {
        let source = source(96, 64).unwrap();
        let converted = convert(&source).unwrap();
        let picture = image::load_from_memory(&converted).unwrap();
        assert_eq!((picture.width(), picture.height()), (48, 32));
        assert_eq!(convert(&source).unwrap(), converted);
    }

    #[test]
    fn malformed_or_oversized_input_is_an_error() {
        assert!(convert(b"no picture").is_err());
        let long = encoded(&RgbImage::new(MAX_EDGE + 1, 8)).unwrap();
        assert!(convert(&long).is_err());
    }
}
