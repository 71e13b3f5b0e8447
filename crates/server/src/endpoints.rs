//! Routes and their `OpenAPI` description from one list of handlers, each with its path.
//!
//! In: the handlers, each with a `utoipa::path`. Out: `routes()`, which makes plain routes of them,
//! and a type that describes the same handlers. Descriptions take memory and milliseconds, which
//! nobody pays but who asks for them.

use axum::Router;
use axum::handler::Handler;
use axum::routing::MethodRouter;
use utoipa_axum::PathItemExt as _;

macro_rules! endpoints {
    ($visibility:vis $description:ident, $state:ty: $($module:ident::$handler:ident),+ $(,)?) => {
        /// The `OpenAPI` description of these routes.
        #[derive(Debug, utoipa::OpenApi)]
        #[openapi(paths($($module::$handler),+))]
        $visibility struct $description;

        $visibility fn routes() -> axum::Router<$state> {
            let router = axum::Router::new();
            utoipa_axum::paste! {
                $(let router = $crate::endpoints::serve::<$module::[<__path_ $handler>], _, _, _>(
                    router,
                    $module::$handler,
                );)+
            }
            router
        }
    };
}
pub(crate) use endpoints;

/// Adds a handler where its description `P` says that it is.
pub(crate) fn serve<P: utoipa::Path, H, T, S>(router: Router<S>, handler: H) -> Router<S>
where
    H: Handler<T, S>,
    T: 'static,
    S: Clone + Send + Sync + 'static,
{
    let served = P::methods().iter().fold(MethodRouter::new(), |served, method| {
        served.on(method.to_method_filter(), handler.clone())
    });
    router.route(&P::path(), served)
}
