"""Saved views: the list of them, the form that saves a page, and their addresses, which lead to the page."""

from __future__ import annotations

from fastapi import FastAPI, Request, Response
from fastapi.responses import RedirectResponse

from tracejury.collector.api.paths import SOME
from tracejury.collector.api.saved_views import known_view, view_of

from .site import Form, Site, action, page


def add_saved_views(app: FastAPI, site: Site) -> None:
    """`/views`, `/views/{name}`, and the forms that save and delete."""

    @page(app, "/views")
    def views(request: Request) -> Response:
        return site.render(request, "saved_views.html", views=site.reader.saved_views.all())

    @page(app, "/fragments/views")
    def menu(request: Request) -> Response:
        return site.render(request, "saved_views_menu.html", views=site.reader.saved_views.all())

    @page(app, f"/views/{{view:{SOME}}}")
    def one_view(view: str) -> Response:
        return RedirectResponse(known_view(site.reader, view).link, status_code=303)

    @action(app, "/views")
    def save(form: Form) -> Response:
        saved = view_of(form.get("name", ""), form.get("link", ""), app.state.pages, site.clock())
        site.reader.saved_views.save(saved)
        return RedirectResponse("/views", status_code=303)

    @action(app, "/views/delete")
    def delete(form: Form) -> Response:
        site.reader.saved_views.delete(form.get("name", ""))
        return RedirectResponse("/views", status_code=303)
