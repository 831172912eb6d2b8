"""A short sentence a language, of the kind "in the morning the children go to school with their friends".

They are for trying metrics in 45 languages' scripts (XL-Sum's languages), not for judging anybody's translations.
"""

from __future__ import annotations

from collections.abc import Mapping

SAMPLES: Mapping[str, str] = {
    "am": "ልጆቹ ጠዋት ከጓደኞቻቸው ጋር ወደ ትምህርት ቤት ይሄዳሉ።",
    "ar": "يذهب الأطفال إلى المدرسة في الصباح مع أصدقائهم.",
    "az": "Uşaqlar səhər dostları ilə birlikdə məktəbə gedirlər.",
    "bn": "শিশুরা সকালে বন্ধুদের সঙ্গে স্কুলে যায়।",
    "my": "ကလေးများသည် မနက်တွင် သူငယ်ချင်းများနှင့်အတူ ကျောင်းသို့ သွားကြသည်။",
    "zh": "孩子们早上和朋友一起去学校。",
    "zh-Hant": "孩子們早上和朋友一起去學校。",
    "en": "In the morning the children go to school with their friends.",
    "fr": "Le matin, les élèves vont à l’école avec leurs amis.",
    "gu": "બાળકો સવારે મિત્રો સાથે શાળાએ જાય છે.",
    "ha": "Yara suna zuwa makaranta da safe tare da abokansu.",
    "hi": "बच्चे सुबह अपने दोस्तों के साथ स्कूल जाते हैं।",
    "ig": "Ụmụaka na-aga ụlọ akwụkwọ n’ụtụtụ ha na ndị enyi ha.",
    "id": "Anak-anak pergi ke sekolah pada pagi hari bersama teman mereka.",
    "ja": "子どもたちは朝、友だちと一緒に学校へ行きます。",
    "rn": "Abana baja kw'ishure mu gatondo bari kumwe n'abagenzi babo.",
    "ko": "아이들은 아침에 친구들과 함께 학교에 갑니다.",
    "ky": "Балдар эртең менен достору менен мектепке барышат.",
    "mr": "मुले सकाळी मित्रांसोबत शाळेत जातात.",
    "ne": "केटाकेटीहरू बिहान साथीहरूसँग विद्यालय जान्छन्।",
    "om": "Ijoolleen ganama hiriyoota isaanii wajjin gara mana barumsaa deemu.",
    "ps": "ماشومان سهار له خپلو ملګرو سره ښوونځي ته ځي.",
    "fa": "بچه‌ها صبح با دوستانشان به مدرسه می‌روند.",
    "pcm": "Di pikin dem dey go school for morning with dia friends.",
    "pt": "De manhã as crianças vão à escola com os seus amigos.",
    "pa": "ਬੱਚੇ ਸਵੇਰੇ ਆਪਣੇ ਦੋਸਤਾਂ ਨਾਲ ਸਕੂਲ ਜਾਂਦੇ ਹਨ।",
    "ru": "Утром дети идут в школу вместе со своими друзьями.",
    "gd": "Bidh a’ chlann a’ dol dhan sgoil sa mhadainn còmhla ri an caraidean.",
    "sr": "Деца ујутру иду у школу са својим пријатељима.",
    "sr-Latn": "Deca ujutru idu u školu sa svojim prijateljima.",
    "si": "ළමයි උදේ තම මිතුරන් සමඟ පාසලට යති. ශ්‍රී ලංකාව ලස්සනයි.",
    "so": "Carruurtu subaxdii waxay iskuulka u raacaan saaxiibbadood.",
    "es": "Por la mañana los niños van a la escuela con sus amigos.",
    "sw": "Watoto huenda shuleni asubuhi pamoja na marafiki zao.",
    "ta": "குழந்தைகள் காலையில் நண்பர்களுடன் பள்ளிக்குச் செல்கிறார்கள்.",
    "te": "పిల్లలు ఉదయం తమ స్నేహితులతో బడికి వెళ్తారు.",
    "th": "เด็กๆไปโรงเรียนกับเพื่อนในตอนเช้า",
    "ti": "ቆልዑ ንግሆ ምስ ኣዕሩኽቶም ናብ ቤት ትምህርቲ ይኸዱ።",
    "tr": "Çocuklar sabahları arkadaşlarıyla birlikte okula gidiyor.",
    "uk": "Вранці діти йдуть до школи разом зі своїми друзями.",
    "ur": "بچے صبح اپنے دوستوں کے ساتھ اسکول جاتے ہیں۔",
    "uz": "Bolalar ertalab doʻstlari bilan birga maktabga borishadi.",
    "vi": "Buổi sáng các em nhỏ đi đến trường cùng bạn bè.",
    "cy": "Mae’r plant yn mynd i’r ysgol yn y bore gyda’u ffrindiau.",
    "yo": "Àwọn ọmọdé máa ń lọ sí ilé ìwé ní òwúrọ̀ pẹ̀lú àwọn ọ̀rẹ́ wọn.",
}
