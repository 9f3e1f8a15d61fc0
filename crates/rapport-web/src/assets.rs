//! The files that pages use, which are part of the program.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use rapport_durable::digest;

/// The address of the worker that shows notifications. A worker serves only pages below its own address.
pub(crate) const WORKER: &str = "/worker.js";

/// A file of the page.
struct Asset {
    name: &'static str,
    kind: &'static str,
    content: &'static [u8],
}

const ASSETS: [Asset; 13] = [
    Asset {
        name: "style.css",
        kind: "text/css; charset=utf-8",
        content: include_bytes!("../assets/style.css"),
    },
    Asset {
        name: "page.js",
        kind: "text/javascript; charset=utf-8",
        content: include_bytes!("../assets/page.js"),
    },
    Asset {
        name: "idiomorph.js",
        kind: "text/javascript; charset=utf-8",
        content: include_bytes!("../assets/idiomorph.js"),
    },
    Asset {
        name: "idiomorph.LICENSE",
        kind: "text/plain; charset=utf-8",
        content: include_bytes!("../assets/idiomorph.LICENSE"),
    },
    Asset { name: "icon.svg", kind: "image/svg+xml", content: include_bytes!("../assets/icon.svg") },
    Asset {
        name: "icon-maskable.svg",
        kind: "image/svg+xml",
        content: include_bytes!("../assets/icon-maskable.svg"),
    },
    Asset {
        name: "manifest.webmanifest",
        kind: "application/manifest+json",
        content: include_bytes!("../assets/manifest.webmanifest"),
    },
    png("icon-192.png", include_bytes!("../assets/icon-192.png")),
    png("icon-512.png", include_bytes!("../assets/icon-512.png")),
    png("icon-maskable-512.png", include_bytes!("../assets/icon-maskable-512.png")),
    png("icon-apple.png", include_bytes!("../assets/icon-apple.png")),
    png("badge-96.png", include_bytes!("../assets/badge-96.png")),
    Asset {
        name: "worker.js",
        kind: "text/javascript; charset=utf-8",
        content: include_bytes!("../assets/worker.js"),
    },
];

/// A picture. Phones show no others on their home screens.
const fn png(name: &'static str, content: &'static [u8]) -> Asset {
    Asset { name, kind: "image/png", content }
}

/// Identifies the version of the pages. The script reloads a page that another version made.
pub(crate) fn build() -> String {
    let all = ASSETS.iter().flat_map(|asset| asset.content).copied().collect::<Vec<u8>>();
    let version = [env!("CARGO_PKG_VERSION").as_bytes(), &all].concat();
    digest(&version)[..12].to_owned()
}

/// Serves the worker. Its address is the same in all versions, so a browser asks for it each time.
pub(crate) async fn worker() -> Response {
    let mut response = file("worker.js");
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

/// Serves a file by its name, cacheable without limit: another version has another address.
pub(crate) fn file(name: &str) -> Response {
    let Some(asset) = ASSETS.iter().find(|asset| asset.name == name) else {
        return (StatusCode::NOT_FOUND, "there is no such file\n").into_response();
    };
    let headers =
        [(header::CONTENT_TYPE, asset.kind), (header::CACHE_CONTROL, "public, max-age=31536000, immutable")];
    (headers, asset.content).into_response()
}
