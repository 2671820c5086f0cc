#include "web/page.h"

#include "base/version.h"
#include "web/assets.h"

static const char *asset(cd_web_file f)
{
    return cd_web_asset_get(f)->name;
}

static void head(cd_html *h, const cd_page *p)
{
    const cd_page_site *s = p->site;
    cd_html_put(h,
                "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
                "<meta name=\"color-scheme\" content=\"light dark\"><title>{} · Candela</title>",
                p->title);
    cd_html_put(h,
                "<link rel=\"icon\" href=\"{}{}\" type=\"image/svg+xml\">"
                "<link rel=\"stylesheet\" href=\"{}{}\"><script src=\"{}{}\" defer></script></head>",
                s->assets, asset(CD_WEB_FAVICON), s->assets, asset(CD_WEB_STYLE), s->assets, asset(CD_WEB_SCRIPT));
}

static void search(cd_html *h, const cd_page *p)
{
    const cd_page_site *s = p->site;
    if (s->search_action == NULL) {
        return;
    }
    cd_html_put(h,
                "<form class=\"search\" action=\"{}\" role=\"search\"><svg class=\"icon\" "
                "aria-hidden=\"true\"><use href=\"#i-search\"/></svg>",
                s->search_action);
    cd_html_put(h,
                "<input id=\"q\" name=\"q\" type=\"search\" value=\"{}\" placeholder=\"{}\" "
                "aria-label=\"{}\" autocomplete=\"off\" spellcheck=\"false\" maxlength=\"200\">"
                "<kbd aria-hidden=\"true\">/</kbd><output for=\"q\" class=\"tag\" hidden></output></form>",
                cd_foreign_of(p->searched), s->search_label, s->search_label);
}

static void tabs(cd_html *h, const cd_page *p)
{
    const cd_page_site *s = p->site;
    if (s->tabs_cnt == 0) {
        return;
    }
    cd_html_put(h, "<nav class=\"tabs\" aria-label=\"Sections\">");
    for (usize i = 0; i < s->tabs_cnt; i++) {
        const cd_page_link *t = &s->tabs[i];
        bool is_here = p->tab != NULL && strcmp(p->tab, t->href) == 0;
        cd_html_put(h, "<a href=\"{}\" data-go=\"{}\" aria-current=\"{}\">{}</a>", t->href,
                    t->key == NULL ? "" : t->key, is_here ? "page" : "false", t->name);
    }
    cd_html_put(h, "</nav>");
}

void cd_page_begin(cd_html *h, const cd_page *p)
{
    const cd_page_site *s = p->site;
    const cd_markup symbols = {.html = cd_web_asset_get(CD_WEB_SYMBOLS)->body};
    head(h, p);
    cd_html_put(h, "<body><a class=\"skip\" href=\"#main\">Skip to content</a>{}", symbols);
    cd_html_put(h,
                "<header class=\"bar\"><div class=\"bar-in\"><a class=\"brand\" href=\"{}\">"
                "<svg viewBox=\"0 0 32 32\" aria-hidden=\"true\"><use href=\"#i-mark\"/></svg>"
                "candela<small>{}</small></a>",
                s->home, s->product);
    search(h, p);
    cd_html_put(h, "<div class=\"bar-end\">{}</div></div>", p->bar_end);
    tabs(h, p);
    cd_html_put(h, "</header><main id=\"main\" tabindex=\"-1\">");
}

void cd_page_end(cd_html *h, const cd_page *p)
{
    const cd_page_site *s = p->site;
    cd_html_put(h, "</main><footer class=\"foot\"><span>candela {}</span>", CD_VERSION);
    for (usize i = 0; i < s->foot_cnt; i++) {
        cd_html_put(h, "<a href=\"{}\">{}</a>", s->foot[i].href, s->foot[i].name);
    }
    cd_html_put(h, "<span class=\"push\">Times in UTC</span></footer>"
                   "<div class=\"toast\" role=\"status\" aria-live=\"polite\"></div></body></html>\n");
}
